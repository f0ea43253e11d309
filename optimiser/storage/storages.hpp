// SPDX-License-Identifier: MIT
// Decides which tensors of a graph share memory: views with what they view, results with inputs or states that they may
// be computed in place of. The schedule's cost model and the executable both use these rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph.hpp"

namespace tyto::optimiser {

inline constexpr std::uint32_t nothing = UINT32_MAX;

/// Which output's buffer and which state's memory each port may be computed straight into, by port; `nothing` for none.
struct Targets {
  std::vector<std::uint32_t> output_of;
  std::vector<std::uint32_t> update_of;
  std::vector<bool> direct;  // by output: nothing is copied there at the end
};

/// The tensor whose elements these are, in the same order: behind views that keep all of a dense tensor as it lies.
core::Port whole_behind(const core::Graph& graph, core::Port port);

/// An output that a kernel computes is computed straight into the output's buffer when `outputs_in_place`, also where
/// it is another shape of what is computed; other views, inputs, new values of states and outputs listed twice are
/// copied there at the end of the run.
Targets choose_targets(const core::Graph& graph, bool outputs_in_place = true);

/// In place of which inputs a result of a node may be computed, as far as that does not depend on the order: element i
/// of the result needs only element i of the input, or the input is the first, of which a part is replaced; and the
/// input fills its storage. What remains to be seen is that nobody reads the storage afterwards, that every other slot
/// that lies there may be overwritten, too, and that no other result of the node lies there.
class InPlaceRule {
 public:
  InPlaceRule(const core::Graph& graph, const core::GraphNode& node, core::Port result);
  bool allows(std::size_t slot, const core::View& input_view, std::size_t storage_bytes) const;

 private:
  const core::Graph& graph_;
  const core::GraphNode& node_;
  core::Port result_;
  std::optional<std::size_t> initial_;  // of a loop: the operand whose place the result may take
};

/// Where the bytes of a storage come from. Only planned ones take room in the arena.
enum class StorageKind : std::uint8_t { planned, input, constant, output };

/// Storages of a graph for any order of its nodes: unions of ports by views.
class Storages {
 public:
  explicit Storages(const core::Graph& graph, bool outputs_in_place = true);

  std::size_t count() const { return kind_.size(); }
  std::uint32_t of(core::Port port) const { return storage_of_[port]; }
  StorageKind kind(std::uint32_t storage) const { return kind_[storage]; }
  std::size_t bytes(std::uint32_t storage) const { return bytes_[storage]; }
  /// The port's place in its storage.
  core::View view(core::Port port) const;
  /// True for a node that runs no kernel: a leaf, or a view that strides can express.
  bool is_free(std::uint32_t node) const { return free_[node]; }
  const Targets& targets() const { return targets_; }

 private:
  std::uint32_t add(StorageKind kind, std::size_t bytes);
  void add_view(const core::GraphNode& node, std::uint32_t index);

  const core::Graph& graph_;
  Targets targets_;
  std::vector<std::uint32_t> storage_of_;  // by port
  std::vector<std::uint32_t> view_of_;     // by port: number among views_, or nothing for dense
  std::vector<core::View> views_;
  std::vector<StorageKind> kind_;  // by storage
  std::vector<std::size_t> bytes_;
  std::vector<bool> free_;  // by node
};

/// Bytes that a port's elements take when they lie without gaps.
std::size_t bytes_of(const core::Graph& graph, core::Port port);

}  // namespace tyto::optimiser
