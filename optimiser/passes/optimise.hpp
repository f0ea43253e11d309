// SPDX-License-Identifier: MIT
// The entry point of the optimiser: a graph in, an equal and better graph out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"
#include "tyto/passes.hpp"

namespace tyto::optimiser {

struct PassOptions {
  /// Which passes run: texts for PassSelection, applied one after the other.
  std::vector<std::string> passes = {};
  /// Computes the outputs of a graph without inputs. Without it, constants are not folded.
  std::function<std::vector<core::Array>(core::Graph)> evaluate = nullptr;
  /// Bytes that a folded constant may have, unless it is no larger than what it is computed from.
  std::size_t fold_limit = std::size_t{1} << 20;
  /// Whether the device itself runs an operator on these types, so that it can stand in a fused group, reductions
  /// included. Without it, all.
  std::function<bool(core::OpId op, std::span<const DType> inputs, std::span<const DType> outputs)> supports = nullptr;
  /// Bytes of a product's weights in the layout that its kernel reads fastest, 0 where it does not pay. Without it,
  /// none are packed. See core::Device::packed_bytes.
  std::function<std::int64_t(core::OpId op, const core::ProductAttributes& product, DType dtype)> packed_bytes =
      nullptr;
  /// Of a loop's body: inputs from this number on are the same in each iteration. Products of them are given packed
  /// weights, and the packing is to be hoisted.
  std::size_t first_capture = SIZE_MAX;
  /// Called with the graph's text at the start ("before"), and after each run of a pass that changed it.
  std::function<void(std::string_view pass, const std::string& text)> dump = nullptr;
};

/// Runs the passes in order until none changes anything. Inputs keep their numbers, outputs and updates their order.
/// Throws ValueError for a pass that does not exist.
core::Graph optimise(core::Graph graph, const PassOptions& options = {}, PassReport* report = nullptr);

}  // namespace tyto::optimiser
