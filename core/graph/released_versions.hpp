// SPDX-License-Identifier: MIT
// Contents of evaluated values; those of versions of states that released theirs are restored for recorded expressions
// that still read them.
#pragma once

#include <memory>

#include "core/graph/symbol.hpp"

namespace tyto::core {

/// The contents of a value that is evaluated. Those of a state are read under its lock, since a run of another thread
/// may release them, and restored where one has.
Array contents_of(const Value& value);

/// Releases the contents of the version; `deferred` restores them, bit for bit, when they are read.
Array release_contents(Node& version, std::shared_ptr<const DeferredContents> deferred);

/// Whether the contents of the version are released and have not been read since.
bool is_released(const Node& version);

/// The contents of a version; the caller holds the lock of its state.
Array restored_contents(Node& version);

/// Gives the version these contents, if its own were released.
void end_release(Node& version, Array contents);

}  // namespace tyto::core
