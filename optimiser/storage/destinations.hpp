// SPDX-License-Identifier: MIT
// Destinations: tensors that are computed straight into their part of a larger one, so that joining moves nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/graph/graph.hpp"

namespace tyto::optimiser {

/// Where a port is computed: `view` of the dense storage of `whole`, or (no_port) in a storage of its own.
struct Destination {
  core::Port whole = core::no_port;
  core::View view;

  explicit operator bool() const { return whole != core::no_port; }
};

/// Questions to the device before a tensor is computed into another tensor's storage.
struct DestinationCallbacks {
  /// The node's kernel can write result number `result` with this view.
  std::function<bool(std::uint32_t node, std::uint32_t result, const core::View& view)> writes;
  /// The node's kernel reads input number `input` with this view without asking for a dense copy first.
  std::function<bool(std::uint32_t node, std::size_t input, const core::View& view)> reads;
  /// The node's result is put together from its parts: kernels skip parts that are in place already.
  std::function<bool(std::uint32_t node)> is_concat_like;
};

/// For every port its destination. Parts of concat, of padding with a constant and of set_slice get one when it is
/// legal (see docs/memory.md) and, where a part is much older than the others, when it does not raise the peak.
/// Nodes run in the given order.
std::vector<Destination> choose_destinations(const core::Graph& graph, std::span<const std::uint32_t> order,
                                             const DestinationCallbacks& callbacks);

}  // namespace tyto::optimiser
