// SPDX-License-Identifier: MIT
// Decides which nodes a device runs itself.
#pragma once

#include "core/device/device.hpp"
#include "core/graph/graph.hpp"

namespace tyto::run {

/// Whether the device has a kernel for the node; for a loop or branch, for everything in its regions, lowered where
/// that is needed.
bool runs_on(core::Device& device, const core::Graph& graph, const core::GraphNode& node);

}  // namespace tyto::run
