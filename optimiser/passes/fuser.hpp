// SPDX-License-Identifier: MIT
// Fuser, which finds fusion groups, and the state that its parts share. Groups are grown in one traversal of the nodes,
// each joining those of its producers; what no group changes stays as it was, node by node.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/graph_copy.hpp"
#include "optimiser/passes/fuse.hpp"
#include "optimiser/passes/fused_group.hpp"

namespace tyto::optimiser {

/// A small set with inline storage: the pass makes one at every node.
template <class T, std::size_t most>
class SmallSet {
 public:
  /// Adds it unless it is there; false when there is no room for it.
  bool add(const T& item) {
    if (std::find(begin(), end(), item) != end()) return true;
    if (count_ == most) return false;
    items_[count_++] = item;
    return true;
  }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + count_; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  const T& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::array<T, most> items_;
  std::size_t count_ = 0;
};

/// Every unit (a group, or a node that is in none) has a level above those of all units that it reads, so that a path
/// between units climbs: units of one level have no path between them and may be united. A group of a lower level may
/// join a consumer only when it has no other.
class Fuser {
 public:
  Fuser(core::Graph graph, const PassOptions& options) : graph_(std::move(graph)), options_(options) {}

  core::Graph run(FuseCounts& counts);

 private:
  using GraphNode = core::GraphNode;
  using OpId = core::OpId;
  using Port = core::Port;
  using Index = std::uint32_t;

  static constexpr Index none = UINT32_MAX;
  // The tiles of a group that registers and the L1 cache hold: one for each input and for each value still to be read.
  static constexpr std::size_t most_inputs = 14, most_steps = 48;
  // No element-wise operator has more operands.
  static constexpr std::size_t most_operands = 3;
  // Of a repetition: the nodes that it consists of, the tensors that it reads (three operands of a node, each a
  // repetition, are among the inputs of its group), and how small a part of the result all of them but one are.
  static constexpr std::size_t most_repeated = 3, most_behind = 4, small_part = 16;
  static_assert(most_operands * most_behind <= most_inputs);
  using Inputs = SmallSet<Port, most_inputs>;
  using Groups = SmallSet<Index, most_operands>;

  /// Grown node by node; a group that was united with another is empty and points to it.
  struct Group {
    Index united_with = none;
    std::uint32_t level = 0;
    std::uint32_t steps = 0;
    std::uint32_t outside = 0;  // reads of its members' results by others
    Index when = 0;             // node at whose place in the order it is computed
    bool repeats = false;       // a member's operand is computed here too
    Index fold = none;          // the reduction that it ends in
    Index first = none;         // its members, as a linked list
    Index last = none;
    Inputs inputs = {};
    IntList axes = {};  // of the reductions of rows that it computes on its way
    Shape shape = {};   // of what they reduce, or a reduction that computes its operand
  };

  static bool is_real(const Group& group);

  /// Steps that a node is in a loop: of complex numbers more than one.
  std::uint32_t steps_of(Index i) const;

  Index size() const { return static_cast<Index>(graph_.nodes().size()); }
  const GraphNode& node(Index i) const { return graph_.nodes()[i]; }
  const Shape& shape(Port port) const { return graph_.type(port).shape; }
  std::size_t bytes(Port port) const;

  Index find(Index group);
  Index group_of(Index i) { return group_[i] == none ? none : group_[i] = find(group_[i]); }

  bool is_fusible(const GraphNode& each) const;

  /// Whether the device has a kernel of its own for the reduction, and so takes it into groups.
  bool device_reduces(const GraphNode& each) const;

  /// Marks the nodes that outputs, updates and effects need; the reads of others do not count.
  void find_live();

  void classify();

  void list_reads();

  /// Nodes that read the tensor's memory, in order; size() stands for the end of the run.
  std::span<const Index> consumers_of(Port port) const;

  void choose_repeated();
  /// Readers of a repeated node read its operands: so many more.
  void count_reads_through(Index i, std::uint32_t more);

  /// Calls visit(port) for the tensors that a member reads, seen through what is repeated in its group.
  template <class Visit>
  void each_operand(Index i, const Visit& visit) {
    each_operand(i, i, visit);
  }
  template <class Visit>
  void each_operand(Index i, Index member, const Visit& visit) {
    for (const Port input : graph_.inputs_of(node(i))) {
      const Port port = seen_by(member, input);
      if (scalar_of(graph_, port)) continue;
      const Index producer = graph_.producer(port);
      if (repeated_[producer] || widens_[i]) each_operand(producer, member, visit);
      else visit(port);
    }
  }

  std::uint32_t level_of(Index i);

  void place(Index i);

  bool reads_repeated(Index i) const;

  /// Calls visit(node) for the members of a group.
  template <class Visit>
  void each_member(Index group, const Visit& visit) const {
    for (Index i = groups_[group].first; i != none; i = next_member_[i]) visit(i);
  }

  /// How often node i reads results of the group's members, itself or through what is repeated for it.
  std::uint32_t reads(Index i, Index group);

  /// Only kernels of groups run between the two nodes, so that their order matters little.
  bool same_time(Index a, Index b) const { return heavy_before_[std::max(a, b)] <= heavy_before_[std::min(a, b) + 1]; }

  /// The readers of a group's results, except for a node that is to join it.
  struct Reading {
    Index first_other = none;  // the first consumer that is neither the node nor a member
    std::size_t results = 0;   // bytes that somebody reads
    std::size_t for_node = 0;  // bytes that only the node reads
  };
  Reading reading_of(Index group, Index i);

  /// Bytes that the group alone would keep alive if it were computed only when node `when` is.
  std::size_t kept_until(Index when, Index group);

  /// The node at whose place this one is computed.
  Index made_at(Index i);

  Index soonest(Index i);

  Index time_together(std::span<const Index> groups, Index i);

  /// Memory that is there from the first to the last step.
  bool is_kept(Port port) const;

  /// The inputs of the group of node i united with these groups; none if they are more than a kernel takes.
  std::optional<Inputs> inputs_with(std::span<const Index> groups, Index i);

  /// Makes one group of these and that of node i, if it would be neither too large nor make a cycle or keep memory
  /// alive.
  bool try_to_unite(std::span<const Index> groups, Index i);

  bool in_real_group(Index i);

  /// Elements in a row of a group that reduces rows: shorter ones the operators take as columns, which one by one is
  /// faster than copying a group's operands into columns; longer ones do not stay in the cache between stages.
  static constexpr std::int64_t shortest_row = 32, longest_row = 16384;
  static constexpr std::size_t most_stages = 4;

  /// A set of groups and reductions that may become one group over rows.
  struct Rows {
    IntList axes;
    Shape shape;                // of what is reduced
    std::vector<Index> nodes;   // in order
    std::uint32_t highest = 0;  // level
  };

  /// The axes of a reduction that can be a step between others: the last ones of what it reads.
  std::optional<IntList> last_axes(Index i) const;

  /// The tensor that a member reads in place of an input: through renamings, broadcasts, and kept or dropped axes of
  /// rows.
  Port seen_by(Index i, Port input);
  Port row_behind(Port port) const;

  bool is_in(const Rows& rows, Index i) const { return std::ranges::binary_search(rows.nodes, i); }

  /// The nodes of a unit that may be part of these rows; none if it may not.
  std::vector<Index> unit_for(const Rows& rows, Index i);

  bool may_be_one(const Rows& rows);

  bool keeps_results_longer(const Rows& rows);

  bool try_add(Rows& rows, Index i);

  void grow(Rows& rows);

  /// A view of another tensor's memory.
  bool is_looked_at(Port port) const;

  bool is_worth_it(const Rows& rows);

  void choose_rows();

  /// Whether the reduced axes are adjacent once those of length one are left out, and reduce more than one element.
  bool folds_neighbours(const GraphNode& each) const;

  /// A reduction that a group can end in.
  bool may_end_group(Index i) const;
  void choose_widened_folds();
  void choose_folds();

  void list_members();

  std::span<const Index> members_of(Index group) const {
    return {members_.data() + first_member_[group], first_member_[group + 1] - first_member_[group]};
  }

  void find_needed();

  /// Units in an order in which inputs precede their consumers, as near to the old order as that allows: a unit comes
  /// when the last of its nodes would have come.
  std::vector<Index> order_of_units();

  core::Graph rebuild(FuseCounts& counts);

  void add_group(core::GraphBuilder& builder, core::GraphCopy& copy, std::span<const Index> members,
                 FuseCounts& counts);

  /// Whether a group reads a state and gives it its new value.
  bool updates_states(std::span<const Port> inputs, std::span<const Port> outputs) const;

  /// Adds what node i computes, for this member: itself, or one that repeats it.
  void add_instruction(FusedGroup& group, Index i, Index member);

  core::Graph graph_;
  const PassOptions& options_;
  std::vector<bool> live_;                     // by node
  std::vector<Port> memory_of_;                // by port: the tensor in whose memory it lies
  std::vector<Index> reads_;                   // nodes that read each tensor's memory, one tensor after the other
  std::vector<std::uint32_t> first_consumer_;  // by port: where its consumers begin
  std::vector<std::uint32_t> heavy_before_;    // by node: kernels before it that stand in no group
  std::vector<std::uint32_t> consumers_;       // by port: reads of it by what is live
  std::vector<Port> source_;                   // by port: what an element-wise consumer reads in its place
  std::vector<bool> fusible_;                  // by node
  std::vector<bool> repeated_;                 // by node: computed in every group that reads it
  std::vector<bool> widens_;                   // by node: a reduction that computes its operand itself
  std::vector<Index> group_;                   // by node
  std::vector<Index> next_member_;             // by node: the next one of its group
  std::vector<std::uint32_t> level_;           // by node, of those in no group
  std::vector<Group> groups_;
  std::size_t repeated_count_ = 0;
  std::vector<Index> members_;                         // of all real groups, one after the other, each in order
  std::vector<std::uint32_t> first_member_;            // by group: where its members begin
  std::vector<bool> needed_;                           // by node
  std::vector<bool> read_outside_;                     // by port
  std::unordered_map<Port, std::uint32_t> update_of_;  // by port: the input that it updates
};

}  // namespace tyto::optimiser
