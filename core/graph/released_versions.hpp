// SPDX-License-Identifier: MIT
// Contents of evaluated values; those of versions of states that released theirs are restored for recorded expressions
// that still read them.
#pragma once

#include <memory>

#include "core/graph/symbol.hpp"

namespace tyto::core {

/// The contents of a value that is evaluated. Those of a state are taken under its lock, since a run of another thread
/// may let go of them, and made again where one has.
Array contents_of(const Value& value);

/// The version lets go of its contents, which `deferred` makes again, bit for bit, when they are asked for.
Array release_contents(Node& version, std::shared_ptr<const DeferredContents> deferred);

/// Whether the version has let go of its contents, and nobody has asked for them since.
bool is_released(const Node& version);

/// The contents of a version, for who has the lock of its state.
Array restored_contents(Node& version);

/// From now on these are the contents of the version, if it had let go of its own.
void end_release(Node& version, Array contents);

}  // namespace tyto::core
