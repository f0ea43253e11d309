// SPDX-License-Identifier: MIT
// Rebuilds regions with other inputs, for passes on loops and branches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph_copy.hpp"
#include "optimiser/passes/graph_names.hpp"

namespace tyto::optimiser {

/// Ports that the roots depend on. A port for which `given` holds counts, and what it is computed from does not.
std::vector<bool> needed_by(const core::Graph& graph, std::span<const core::Port> roots,
                            const std::vector<bool>& given = {});

/// Copies a region: inputs first, in their new order, then what is put in place of its tensors, then the rest.
class RegionBuilder {
 public:
  explicit RegionBuilder(const core::Graph& region) : region_(region), places_(region, builder_) {}

  /// Input number `input` of the old region.
  void keep_input(std::uint32_t input);
  core::Port add_input(const core::TensorType& type);
  /// A node on tensors of the new region.
  core::Port add(const core::GraphNode& node, std::span<const core::Port> inputs) {
    return builder_.add(node.op, node.attributes, inputs, node.label);
  }
  /// Where a tensor of the old region that was kept or replaced is in the new one.
  core::Port place(core::Port old) const { return places_[old]; }
  /// Consumers of the old region's tensor read this one.
  void replace(core::Port old, core::Port by) { places_[old] = by; }

  /// Outputs and new values of the first inputs are ports of the old region. What they do not need is left out.
  core::Region finish(std::span<const core::Port> outputs, std::span<const core::Port> updates);

 private:
  const core::Graph& region_;
  core::GraphBuilder builder_;
  core::GraphCopy places_;  // of the old region's ports in the new one
};

}  // namespace tyto::optimiser
