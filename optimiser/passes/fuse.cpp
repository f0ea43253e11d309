// Groups are grown in one walk over the nodes, each joining those of its producers; what no group changes stays as it
// was, node by node.
//
// No group may depend on itself through a node outside it. Every unit (a group, or a node that is in none) has a level
// above those of all units that it reads, so that a path between units climbs: units of one level have no path between
// them and may be united. A group of a lower level may join a reader only when it has no other.
#include "optimiser/passes/fuse.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "optimiser/passes/fused_group.hpp"
#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

namespace {

using core::GraphNode;
using core::OpDef;
using core::OpId;
using core::Port;
using core::Traits;
using Index = std::uint32_t;

// What registers and the L1 cache hold of a group: a tile for each input and for each value still to be read.
constexpr std::size_t most_inputs = 14;
constexpr std::size_t most_steps = 48;
constexpr Index none = UINT32_MAX;
/// A group that waits longer than so many nodes for its only reader would keep its inputs alive meanwhile.
constexpr Index near = 16;

class Fuser {
 public:
  Fuser(core::Graph graph, const PassOptions& options) : graph_(std::move(graph)), options_(options) {}

  core::Graph run(FuseCounts& counts) {
    classify();
    choose_repeated();
    for (Index i = 0; i < size(); ++i) place(i);
    if (options_.folds) choose_folds();
    if (std::ranges::none_of(groups_, is_real)) return std::move(graph_);
    counts.repeated = repeated_count_;
    find_needed();
    return rebuild(counts);
  }

 private:
  /// Grown node by node; a group that was united with another is empty and points to it.
  struct Group {
    Index united_with = none;
    std::uint32_t level = 0;
    std::uint32_t steps = 0;
    std::uint32_t outside = 0;  // reads of its members' results by others
    Index last = 0;             // node
    Index fold = none;          // the reduction that it ends in
    std::vector<Port> inputs;
  };

  static bool is_real(const Group& group) {
    return group.united_with == none && (group.steps > 1 || group.fold != none);
  }

  Index size() const { return static_cast<Index>(graph_.nodes().size()); }
  const GraphNode& node(Index i) const { return graph_.nodes()[i]; }
  const Shape& shape(Port port) const { return graph_.type(port).shape; }
  std::size_t bytes(Port port) const {
    return static_cast<std::size_t>(element_count(shape(port))) * size_of(graph_.type(port).dtype);
  }

  Index find(Index group) {
    Index last = group;
    while (groups_[last].united_with != none) last = groups_[last].united_with;
    while (group != last) group = std::exchange(groups_[group].united_with, last);
    return last;
  }
  Index group_of(Index i) { return group_[i] == none ? none : group_[i] = find(group_[i]); }

  bool is_fusible(const GraphNode& each) const {
    const OpDef& def = core::definition(each.op);
    if (!def.is(Traits::elementwise) && each.op != OpId::cast) return false;
    std::size_t tensors = 0;
    DType types[3];
    std::size_t count = 0;
    for (const Port input : graph_.inputs_of(each)) {
      types[count++] = graph_.type(input).dtype;
      tensors += number_of(graph_, source_[input]) ? 0 : 1;
    }
    const DType result = graph_.type(each.first_result).dtype;
    return tensors != 0 && (!options_.supports || options_.supports(each.op, {types, count}, {&result, 1}));
  }

  void classify() {
    readers_.assign(graph_.port_count(), 0);
    source_.resize(graph_.port_count());
    fusible_.assign(size(), false);
    group_.assign(size(), none);
    level_.assign(size(), 0);
    repeated_.assign(size(), false);
    for (Index i = 0; i < size(); ++i) {
      const GraphNode& each = node(i);
      for (const Port input : graph_.inputs_of(each)) ++readers_[input];
      for (Port port = each.first_result; port < each.first_result + each.result_count; ++port) source_[port] = port;
      // To an element-wise reader a stretched or renamed tensor is the tensor itself.
      const bool same = each.op == OpId::broadcast_to || each.op == OpId::alias || each.op == OpId::stop_gradient;
      if (same) source_[each.first_result] = source_[graph_.inputs_of(each)[0]];
      fusible_[i] = is_fusible(each);
    }
    for (const Port port : graph_.outputs()) ++readers_[port];
    for (const core::GraphUpdate& update : graph_.updates()) ++readers_[update.port];
  }

  static bool is_cheap(OpId op) {
    switch (op) {
      case OpId::cast:
      case OpId::negate:
      case OpId::abs:
      case OpId::square:
      case OpId::relu:
      case OpId::logical_not:
      case OpId::add:
      case OpId::subtract:
      case OpId::multiply:
      case OpId::maximum:
      case OpId::minimum: return true;
      default: return core::definition(op).domain == core::Domain::comparison;
    }
  }

  // A cheap function of one tensor that several element-wise nodes read: instead of its result they all read that
  // tensor, which must be no larger, so that no more bytes are moved nor kept.
  void choose_repeated() {
    std::vector<std::uint32_t> fusing(graph_.port_count(), 0);
    for (Index i = 0; i < size(); ++i) {
      if (!fusible_[i]) continue;
      for (const Port input : graph_.inputs_of(node(i))) {
        if (shape(input) == shape(node(i).first_result)) ++fusing[input];
      }
    }
    for (Index i = 0; i < size(); ++i) {
      const Port result = node(i).first_result;
      if (!fusible_[i] || !is_cheap(node(i).op) || readers_[result] < 2 || fusing[result] != readers_[result]) continue;
      Port only = core::no_port;
      bool one = true;
      for (const Port input : graph_.inputs_of(node(i))) {
        if (number_of(graph_, source_[input])) continue;
        one = one && (only == core::no_port || only == source_[input]);
        only = source_[input];
      }
      if (!one || repeated_[graph_.producer(only)] || bytes(only) > bytes(result)) continue;
      repeated_[i] = true;
      ++repeated_count_;
    }
  }

  /// Calls visit(port) for the tensors that a member reads, seen through what is repeated in its group.
  template <class Visit>
  void each_operand(Index i, const Visit& visit) const {
    for (const Port input : graph_.inputs_of(node(i))) {
      const Port port = source_[input];
      if (number_of(graph_, port)) continue;
      if (repeated_[graph_.producer(port)]) each_operand(graph_.producer(port), visit);
      else visit(port);
    }
  }

  std::uint32_t level_of(Index i) {
    const Index group = group_of(i);
    return group == none ? level_[i] : groups_[group].level;
  }

  void place(Index i) {
    if (repeated_[i]) {
      // Stays outside all groups; whoever reads it reads its operand.
      each_operand(i, [&](Port port) { level_[i] = std::max(level_[i], level_of(graph_.producer(port))); });
      return;
    }
    if (!fusible_[i]) {
      for (const Port input : graph_.inputs_of(node(i))) {
        level_[i] = std::max(level_[i], level_of(graph_.producer(input)) + 1);
      }
      return;
    }
    std::vector<Index> candidates;
    std::vector<Port> operands;
    std::uint32_t level = 0, highest = 0;
    each_operand(i, [&](Port port) {
      operands.push_back(port);
      const Index producer = graph_.producer(port);
      const Index group = group_of(producer);
      if (group == none || shape(port) != shape(node(i).first_result)) {
        level = std::max(level, level_of(producer) + 1);
      } else if (std::find(candidates.begin(), candidates.end(), group) == candidates.end()) {
        candidates.push_back(group);
        highest = std::max(highest, groups_[group].level);
      }
    });
    group_[i] = static_cast<Index>(groups_.size());
    groups_.push_back({none, 0, 1, readers_[node(i).first_result], i, none, {}});
    for (const Port port : operands) add_input(groups_.back().inputs, port);

    if (!candidates.empty() && highest >= level) {
      // All groups of the highest level or none: one left outside would be read by its own level.
      std::vector<Index> peers;
      for (const Index group : candidates) {
        if (groups_[group].level == highest) peers.push_back(group);
      }
      level = fit(peers, i) ? highest : highest + 1;
      for (const Index group : peers) {
        if (level == highest) unite(group, i);
      }
    }
    for (const Index group : candidates) {
      if (groups_[group].united_with != none || groups_[group].level >= level) continue;
      const bool only_reader = groups_[group].outside == reads(i, group);
      if (only_reader && worth_waiting(group, i) && fit({&group, 1}, i)) unite(group, i);
    }
    groups_[group_of(i)].level = level;
  }

  static void add_input(std::vector<Port>& inputs, Port port) {
    if (std::find(inputs.begin(), inputs.end(), port) == inputs.end()) inputs.push_back(port);
  }

  /// How often node i itself reads results of the group's members.
  std::uint32_t reads(Index i, Index group) {
    std::uint32_t count = 0;
    for (const Port input : graph_.inputs_of(node(i))) {
      if (group_of(graph_.producer(input)) == group) ++count;
    }
    return count;
  }

  bool worth_waiting(Index group, Index i) const {
    if (i - groups_[group].last <= near) return true;
    std::size_t kept = 0;
    for (const Port input : groups_[group].inputs) {
      const OpDef& def = core::definition(node(graph_.producer(input)).op);
      const bool stays = def.is(Traits::leaf) || node(graph_.producer(input)).op == OpId::read;
      if (!stays) kept += bytes(input);
    }
    return kept <= bytes(node(groups_[group].last).first_result);
  }

  /// What the group of node i would read if these groups were united with it.
  std::vector<Port> inputs_with(std::span<const Index> groups, Index i) {
    const Index own = group_of(i);
    const auto inside = [&](Index group) { return group == own || std::ranges::find(groups, group) != groups.end(); };
    std::vector<Port> inputs;
    const auto add_from = [&](const Group& group) {
      for (const Port port : group.inputs) {
        const Index producer = group_of(graph_.producer(port));
        if (producer == none || !inside(producer)) add_input(inputs, port);
      }
    };
    for (const Index group : groups) add_from(groups_[group]);
    add_from(groups_[own]);
    return inputs;
  }

  /// Whether these groups and that of node i together are no more than a kernel keeps at hand.
  bool fit(std::span<const Index> groups, Index i) {
    std::size_t steps = groups_[group_of(i)].steps;
    for (const Index group : groups) steps += groups_[group].steps;
    return steps <= most_steps && inputs_with(groups, i).size() <= most_inputs;
  }

  void unite(Index group, Index i) {
    std::vector<Port> inputs = inputs_with({&group, 1}, i);
    Group& to = groups_[group_of(i)];
    Group& from = groups_[group];
    to.outside += from.outside - reads(i, group);
    to.inputs = std::move(inputs);
    to.steps += from.steps;
    from.united_with = group_of(i);
    from.inputs = {};
  }

  bool in_real_group(Index i) {
    const Index group = group_of(i);
    return group != none && is_real(groups_[group]);
  }

  /// Axes that lie beside each other once those of length one are left out, and that fold something.
  bool folds_neighbours(const GraphNode& each) const {
    const IntList& axes = std::get<core::AxesAttributes>(graph_.attributes(each)).axes;
    const Shape& from = shape(graph_.inputs_of(each)[0]);
    std::int64_t count = 1;
    std::size_t runs = 0;
    bool inside = false;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      if (from[axis] == 1) continue;
      const bool folded = std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
      if (folded) count *= from[axis];
      runs += folded && !inside ? 1 : 0;
      inside = folded;
    }
    return runs == 1 && count != 1;
  }

  // A reduction that is the only reader of a group takes its elements as they are computed.
  void choose_folds() {
    for (Index i = 0; i < size(); ++i) {
      const GraphNode& each = node(i);
      if (each.op != OpId::sum && each.op != OpId::mean && each.op != OpId::prod) continue;
      const Port input = graph_.inputs_of(each)[0];
      const Index group = group_of(graph_.producer(input));
      if (group == none || groups_[group].outside != 1 || readers_[input] != 1 || !folds_neighbours(each)) continue;
      groups_[group].fold = i;
      group_[i] = group;
    }
  }

  // From what must be there at the end back to what it reads. Nodes that all readers see through go.
  void find_needed() {
    needed_.assign(size(), false);
    read_outside_.assign(graph_.port_count(), false);
    members_.resize(groups_.size());
    for (Index i = 0; i < size(); ++i) {
      if (in_real_group(i)) members_[group_of(i)].push_back(i);
    }
    std::vector<Index> open;
    const auto mark = [&](Index i) {
      needed_[i] = true;
      open.push_back(i);
    };
    const auto need = [&](Port port) {
      read_outside_[port] = true;
      const Index producer = graph_.producer(port);
      if (needed_[producer]) return;
      if (!in_real_group(producer)) return mark(producer);
      for (const Index member : members_[group_of(producer)]) mark(member);
    };
    for (const Port port : graph_.outputs()) need(port);
    for (const core::GraphUpdate& update : graph_.updates()) need(update.port);
    for (Index i = 0; i < size(); ++i) {
      const bool input = node(i).op == OpId::read && node(i).input_count == 0;
      if (!needed_[i] && (input || core::definition(node(i).op).is(Traits::effect))) mark(i);
    }
    while (!open.empty()) {
      const Index i = open.back();
      open.pop_back();
      if (!in_real_group(i)) {
        for (const Port input : graph_.inputs_of(node(i))) need(input);
        continue;
      }
      each_operand(i, [&](Port port) {
        if (group_of(graph_.producer(port)) != group_of(i)) need(port);
      });
    }
  }

  /// Units in an order in which inputs precede their readers, as near to the old order as that allows: a unit comes
  /// when the last of its nodes would have come.
  std::vector<Index> order_of_units() {
    std::vector<Index> unit(size());  // by node: the last node of its unit
    for (Index i = 0; i < size(); ++i) unit[i] = in_real_group(i) ? members_[group_of(i)].back() : i;
    std::vector<std::uint32_t> waiting(size(), 0);
    std::vector<std::pair<Index, Index>> edges;  // producer's unit, reader's unit
    const auto depend = [&](Index reader, Port port) {
      const Index from = unit[graph_.producer(port)];
      if (from != reader) edges.emplace_back(from, reader);
    };
    for (Index i = 0; i < size(); ++i) {
      if (!needed_[i]) continue;
      if (in_real_group(i)) {
        each_operand(i, [&](Port port) { depend(unit[i], port); });
      } else {
        for (const Port input : graph_.inputs_of(node(i))) depend(i, input);
      }
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    for (const auto& [from, to] : edges) ++waiting[to];
    std::priority_queue<Index, std::vector<Index>, std::greater<>> ready;
    for (Index i = 0; i < size(); ++i) {
      if (needed_[i] && unit[i] == i && waiting[i] == 0) ready.push(i);
    }
    std::vector<Index> order;
    while (!ready.empty()) {
      const Index done = ready.top();
      ready.pop();
      order.push_back(done);
      for (auto edge = std::lower_bound(edges.begin(), edges.end(), std::pair<Index, Index>(done, 0));
           edge != edges.end() && edge->first == done; ++edge) {
        if (--waiting[edge->second] == 0) ready.push(edge->second);
      }
    }
    return order;
  }

  core::Graph rebuild(FuseCounts& counts) {
    core::GraphBuilder builder;
    renamed_.assign(graph_.port_count(), core::no_port);
    std::unordered_map<Port, std::uint32_t> inputs;
    for (std::uint32_t i = 0; i < graph_.inputs().size(); ++i) inputs[graph_.inputs()[i].port] = i;
    // Inputs keep their numbers whatever the order of the nodes.
    for (const core::GraphInput& input : graph_.inputs()) {
      renamed_[input.port] = builder.add_input(graph_.type(input.port), input);
    }
    for (const Index i : order_of_units()) {
      const GraphNode& each = node(i);
      if (inputs.contains(each.first_result)) continue;
      if (in_real_group(i)) {
        add_group(builder, members_[group_of(i)]);
        ++counts.groups;
        counts.members += members_[group_of(i)].size();
        continue;
      }
      std::vector<Port> ports;
      std::vector<core::TensorType> types;
      for (const Port input : graph_.inputs_of(each)) ports.push_back(renamed_[input]);
      for (std::uint32_t k = 0; k < each.result_count; ++k) types.push_back(graph_.type(each.first_result + k));
      const Port first = builder.add(each.op, each.attributes, ports, types, each.label);
      for (std::uint32_t k = 0; k < each.result_count; ++k) renamed_[each.first_result + k] = first + k;
    }
    for (const Port port : graph_.outputs()) builder.add_output(renamed_[port]);
    for (const core::GraphUpdate& update : graph_.updates()) builder.add_update(update.input, renamed_[update.port]);
    builder.set_draws(graph_.draws());
    return builder.finish();
  }

  void add_group(core::GraphBuilder& builder, const std::vector<Index>& members) {
    FusedGroup group(graph_, shape(node(members[0]).first_result));
    for (const Index member : members) add_step(group, member);
    std::vector<Port> outputs;
    std::shared_ptr<const std::string> label;
    for (const Index member : members) {
      const Port port = node(member).first_result;
      if (!label) label = node(member).label;
      if (!read_outside_[port]) continue;
      group.add_output(port);
      outputs.push_back(port);
    }
    std::vector<Port> inputs;
    for (const Port port : group.inputs()) inputs.push_back(renamed_[port]);
    const auto attributes = std::make_shared<const core::Attributes>(group.attributes());
    const Port first = builder.add(OpId::fused, attributes, inputs, label);
    for (std::uint32_t k = 0; k < outputs.size(); ++k) renamed_[outputs[k]] = first + k;
    const Index fold = groups_[group_of(members[0])].fold;
    if (fold == none || shape(node(fold).first_result) == builder.graph().type(first).shape) return;
    const core::ListAttributes own_shape{shape(node(fold).first_result)};
    renamed_[outputs[0]] = builder.add(OpId::reshape, own_shape, {first});
  }

  void add_step(FusedGroup& group, Index i) {
    if (group.holds(node(i).first_result)) return;
    for (const Port input : graph_.inputs_of(node(i))) {
      const Index producer = graph_.producer(source_[input]);
      if (repeated_[producer]) add_step(group, producer);
    }
    std::vector<Port> operands;
    for (const Port input : graph_.inputs_of(node(i))) operands.push_back(source_[input]);
    group.add_step(node(i).op, node(i).first_result, operands);
    if (group_of(i) != none && groups_[group_of(i)].fold == i) {
      group.fold_over(std::get<core::AxesAttributes>(graph_.attributes(node(i))).axes);
    }
  }

  core::Graph graph_;
  const PassOptions& options_;
  std::vector<std::uint32_t> readers_;  // by port
  std::vector<Port> source_;            // by port: what an element-wise reader reads in its place
  std::vector<bool> fusible_;           // by node
  std::vector<bool> repeated_;          // by node: computed in every group that reads it
  std::vector<Index> group_;            // by node
  std::vector<std::uint32_t> level_;    // by node, of those in no group
  std::vector<Group> groups_;
  std::size_t repeated_count_ = 0;
  std::vector<std::vector<Index>> members_;  // by group
  std::vector<bool> needed_;                 // by node
  std::vector<bool> read_outside_;           // by port
  std::vector<Port> renamed_;                // by port: its number in the new graph
};

}  // namespace

core::Graph fuse(core::Graph graph, const PassOptions& options, FuseCounts* counts) {
  FuseCounts own;
  core::Graph out = Fuser(std::move(graph), options).run(own);
  if (counts != nullptr) *counts = own;
  return out;
}

core::Graph fuse_groups(core::Graph graph, const PassOptions& options, std::vector<RuleCount>& rules) {
  FuseCounts counts;
  core::Graph out = fuse(std::move(graph), options, &counts);
  if (counts.groups == 0) return out;
  rules.push_back({"groups", counts.groups});
  rules.push_back({"members", counts.members});
  if (counts.repeated != 0) rules.push_back({"repeated", counts.repeated});
  return out;
}

}  // namespace tyto::optimiser
