// SPDX-License-Identifier: MIT
// Versions of states without contents, which recorded expressions still read: how to make the contents again.
#pragma once

#include <memory>

#include "core/graph/symbol.hpp"

namespace tyto::core {

/// The version lets go of its contents, which `deferred` makes again, bit for bit, when restore_contents() asks.
Array release_contents(Node& version, std::shared_ptr<const DeferredContents> deferred);

/// Whether the version has let go of its contents, and nobody has asked for them since.
bool is_released(const Node& version);

/// Gives a version that let go of its contents those again; nothing is done to any other node.
void restore_contents(Node& node);

/// The version goes, and nobody will ask for its contents.
void forget_released(const Node& version);

}  // namespace tyto::core
