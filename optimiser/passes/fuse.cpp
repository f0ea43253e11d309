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
#include "optimiser/passes/update_rules.hpp"

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

class Fuser {
 public:
  Fuser(core::Graph graph, const PassOptions& options) : graph_(std::move(graph)), options_(options) {}

  core::Graph run(FuseCounts& counts) {
    classify();
    choose_repeated();
    list_reads();
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
    Index when = 0;             // node at whose place in the order it is computed
    bool repeats = false;       // a member's operand is computed here too
    Index fold = none;          // the reduction that it ends in
    std::vector<Port> inputs;
    std::vector<Index> nodes;  // its members
  };

  static bool is_real(const Group& group) {
    return group.united_with == none && (group.steps > 1 || group.repeats || group.fold != none);
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

  /// What outputs, updates and effects need; others read nothing.
  void find_live() {
    live_.assign(size(), false);
    for (const Port port : graph_.outputs()) live_[graph_.producer(port)] = true;
    for (const core::GraphUpdate& update : graph_.updates()) live_[graph_.producer(update.port)] = true;
    for (Index i = size(); i-- > 0;) {
      if (!live_[i] && !core::definition(node(i).op).is(Traits::effect)) continue;
      live_[i] = true;
      for (const Port input : graph_.inputs_of(node(i))) live_[graph_.producer(input)] = true;
    }
  }

  void classify() {
    find_live();
    readers_.assign(graph_.port_count(), 0);
    source_.resize(graph_.port_count());
    fusible_.assign(size(), false);
    group_.assign(size(), none);
    level_.assign(size(), 0);
    repeated_.assign(size(), false);
    for (Index i = 0; i < size(); ++i) {
      const GraphNode& each = node(i);
      for (const Port input : graph_.inputs_of(each)) readers_[input] += live_[i] ? 1 : 0;
      for (Port port = each.first_result; port < each.first_result + each.result_count; ++port) source_[port] = port;
      // To an element-wise reader a stretched or renamed tensor is the tensor itself.
      const bool same = each.op == OpId::broadcast_to || each.op == OpId::alias || each.op == OpId::stop_gradient;
      if (same) source_[each.first_result] = source_[graph_.inputs_of(each)[0]];
      fusible_[i] = live_[i] && is_fusible(each);
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

  // Who reads the memory of each tensor, in order, views and what is repeated being seen through.
  void list_reads() {
    memory_of_.resize(graph_.port_count());
    heavy_before_.assign(size() + 1, 0);
    std::vector<std::pair<Port, Index>> reads;
    for (Index i = 0; i < size(); ++i) {
      const GraphNode& each = node(i);
      const OpDef& def = core::definition(each.op);
      const bool seen_through = def.is(Traits::view) || repeated_[i];
      for (Port port = each.first_result; port < each.first_result + each.result_count; ++port) memory_of_[port] = port;
      for (const Port input : graph_.inputs_of(each)) {
        const Port port = memory_of_[fusible_[i] ? source_[input] : input];
        if (seen_through && !number_of(graph_, port)) memory_of_[each.first_result] = port;
        if (live_[i] && !seen_through) reads.emplace_back(port, i);
      }
      const bool free = !live_[i] || fusible_[i] || def.is(Traits::view) || is_kept(each.first_result);
      heavy_before_[i + 1] = heavy_before_[i] + (free ? 0 : 1);
    }
    for (const Port port : graph_.outputs()) reads.emplace_back(memory_of_[port], size());
    for (const core::GraphUpdate& update : graph_.updates()) reads.emplace_back(memory_of_[update.port], size());
    first_read_.assign(graph_.port_count() + 1, 0);
    for (const auto& [port, reader] : reads) ++first_read_[port + 1];
    for (Port port = 0; port < graph_.port_count(); ++port) first_read_[port + 1] += first_read_[port];
    reads_.resize(reads.size());
    std::vector<std::uint32_t> next(first_read_.begin(), first_read_.end() - 1);
    for (const auto& [port, reader] : reads) reads_[next[port]++] = reader;
  }

  /// Nodes that read the tensor's memory, in order; size() stands for the end of the run.
  std::span<const Index> readers_of(Port port) const {
    return {reads_.data() + first_read_[port], first_read_[port + 1] - first_read_[port]};
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
    groups_.push_back({none, 0, 1, readers_[node(i).first_result], i, reads_repeated(i), none, {}, {i}});
    const Index soon = soonest(i);
    for (const Port port : operands) add_input(groups_.back().inputs, port);

    if (!candidates.empty() && highest >= level) {
      // All groups of the highest level or none: one left outside would be read by its own level.
      std::vector<Index> peers;
      for (const Index group : candidates) {
        if (groups_[group].level == highest) peers.push_back(group);
      }
      const Index when = fit(peers, i) ? time_together(peers, i) : none;
      level = when != none ? highest : highest + 1;
      for (const Index group : peers) {
        if (level == highest) unite(group, i);
      }
      if (when != none) groups_[group_of(i)].when = when;
    }
    for (const Index group : candidates) {
      if (groups_[group].united_with != none || groups_[group].level >= level) continue;
      const bool only_reader = groups_[group].outside == reads(i, group);
      if (!only_reader || !fit({&group, 1}, i)) continue;
      if (const Index when = time_together({&group, 1}, i); when != none) {
        unite(group, i);
        groups_[group_of(i)].when = when;
      }
    }
    groups_[group_of(i)].level = level;
    if (groups_[group_of(i)].steps == 1) groups_[group_of(i)].when = soon;
  }

  bool reads_repeated(Index i) const {
    return std::ranges::any_of(graph_.inputs_of(node(i)),
                               [&](Port input) { return repeated_[graph_.producer(source_[input])]; });
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

  /// No kernel but those of groups stands between the two nodes, so that it matters little which comes when.
  bool same_time(Index a, Index b) const { return heavy_before_[std::max(a, b)] <= heavy_before_[std::min(a, b) + 1]; }

  /// Who reads a group's results, a node that is to join it aside.
  struct Reading {
    Index first_other = none;  // the first reader that is neither the node nor a member
    std::size_t results = 0;   // bytes that somebody reads
    std::size_t for_node = 0;  // bytes that only the node reads
  };
  Reading reading_of(Index group, Index i) {
    Reading out;
    for (const Index member : groups_[group].nodes) {
      const Port port = node(member).first_result;
      const std::span<const Index> readers = readers_of(port);
      const auto other = std::ranges::find_if(
          readers, [&](Index reader) { return reader != i && (reader >= size() || group_of(reader) != group); });
      const bool by_node = std::ranges::binary_search(readers, i);
      if (other != readers.end()) out.first_other = std::min(out.first_other, *other);
      if (other != readers.end() || by_node) out.results += bytes(port);
      if (other == readers.end() && by_node) out.for_node += bytes(port);
    }
    return out;
  }

  /// Bytes that the group alone would keep alive if it were computed only when node `when` is.
  std::size_t kept_until(Index when, Index group) {
    std::size_t kept = 0;
    for (const Port input : groups_[group].inputs) {
      const Port port = memory_of_[input];
      if (is_kept(port)) continue;
      const std::span<const Index> readers = readers_of(port);
      const auto other = std::find_if(readers.rbegin(), readers.rend(),
                                      [&](Index reader) { return reader >= size() || group_of(reader) != group; });
      const bool alone = groups_[group].when < groups_[group].nodes[0];
      const Index until = other != readers.rend() && !alone ? *other : made_at(graph_.producer(port));
      if (until < when && !same_time(until, when)) kept += bytes(port);
    }
    return kept;
  }

  /// The node at whose place this one is computed.
  Index made_at(Index i) {
    const Index group = group_of(i);
    return group == none ? i : groups_[group].when;
  }

  // A mask, or what else is smaller than the one tensor that it is computed from, might come as soon as that is there,
  // and let it go: where that would save most, groups do not hold it back.
  Index soonest(Index i) {
    Port from = core::no_port;
    bool one = true;
    each_operand(i, [&](Port port) {
      if (is_kept(memory_of_[port]) || memory_of_[port] == from) return;
      one = one && from == core::no_port;
      from = memory_of_[port];
    });
    return one && from != core::no_port && bytes(from) > bytes(node(i).first_result) ? made_at(graph_.producer(from))
                                                                                     : i;
  }

  // Groups and node would become one kernel, which runs where the node stands, or, when others read results of a group
  // before that, where the last of the groups does. What waits must not keep more memory alive than its results would
  // take; what is hurried must take no more than what then need not be stored. None when either is hurt.
  Index time_together(std::span<const Index> groups, Index i) {
    const Index own = groups_[group_of(i)].when;
    bool early = false;
    Index latest = 0;
    std::size_t for_node = 0;
    std::vector<Reading> readings;
    for (const Index group : groups) {
      readings.push_back(reading_of(group, i));
      early = early || (readings.back().first_other < i && !same_time(groups_[group].when, i));
      latest = std::max(latest, groups_[group].when);
      for_node += readings.back().for_node;
    }
    const Index when = early ? latest : own;
    for (std::size_t k = 0; k < groups.size(); ++k) {
      const Index at = groups_[groups[k]].when;
      if (same_time(at, when)) continue;
      if (at > when || readings[k].first_other < when) return none;
      if (kept_until(when, groups[k]) > readings[k].results) return none;
    }
    if (same_time(when, i)) return when;
    bool ready = bytes(node(i).first_result) <= for_node;
    each_operand(i, [&](Port port) {
      const Index made = made_at(graph_.producer(memory_of_[port]));
      ready = ready && (is_kept(memory_of_[port]) || made <= when || same_time(made, when));
    });
    return ready ? when : none;
  }

  /// Memory that is there from the first to the last step.
  bool is_kept(Port port) const {
    const GraphNode& producer = node(graph_.producer(port));
    return core::definition(producer.op).is(Traits::leaf) || producer.op == OpId::read ||
           number_of(graph_, port).has_value();
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
    to.nodes.insert(to.nodes.end(), from.nodes.begin(), from.nodes.end());
    to.repeats = to.repeats || from.repeats;
    from.united_with = group_of(i);
    from.inputs = {};
    from.nodes = {};
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
      if (!live_[i] || (each.op != OpId::sum && each.op != OpId::mean && each.op != OpId::prod)) continue;
      const Port input = graph_.inputs_of(each)[0];
      const Index group = group_of(graph_.producer(input));
      if (group == none || groups_[group].fold != none || groups_[group].outside != 1) continue;
      if (readers_[input] != 1 || !folds_neighbours(each)) continue;
      if (!same_time(groups_[group].when, i) && kept_until(i, group) > bytes(input)) continue;
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
    for (const core::GraphUpdate& update : graph_.updates()) update_of_.emplace(update.port, update.input);
    // Inputs keep their numbers whatever the order of the nodes.
    for (const core::GraphInput& input : graph_.inputs()) {
      renamed_[input.port] = builder.add_input(graph_.type(input.port), input);
    }
    for (const Index i : order_of_units()) {
      const GraphNode& each = node(i);
      if (inputs.contains(each.first_result)) continue;
      if (in_real_group(i)) {
        add_group(builder, members_[group_of(i)], counts);
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

  void add_group(core::GraphBuilder& builder, const std::vector<Index>& members, FuseCounts& counts) {
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
    core::FusedAttributes made = group.attributes();
    const std::string_view rule = update_rule(made.program, changes_by(made.program, group.inputs(), outputs));
    if (!rule.empty()) count_rule(counts.updates, rule, 1);
    const auto attributes = std::make_shared<const core::Attributes>(std::move(made));
    const Port first = builder.add(OpId::fused, attributes, inputs, label);
    for (std::uint32_t k = 0; k < outputs.size(); ++k) renamed_[outputs[k]] = first + k;
    const Index fold = groups_[group_of(members[0])].fold;
    if (fold == none || shape(node(fold).first_result) == builder.graph().type(first).shape) return;
    const core::ListAttributes own_shape{shape(node(fold).first_result)};
    renamed_[outputs[0]] = builder.add(OpId::reshape, own_shape, {first});
  }

  /// The states that the group both reads and gives a new value.
  std::vector<StateChange> changes_by(const core::FusedProgram& program, std::span<const Port> inputs,
                                      std::span<const Port> outputs) const {
    std::vector<StateChange> changes;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const auto update = update_of_.find(outputs[k]);
      if (update == update_of_.end()) continue;
      const auto state = std::ranges::find(inputs, graph_.inputs()[update->second].port);
      if (state == inputs.end()) continue;
      changes.push_back({static_cast<std::uint16_t>(state - inputs.begin()), program.outputs[k]});
    }
    return changes;
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
  std::vector<bool> live_;                   // by node
  std::vector<Port> memory_of_;              // by port: the tensor in whose memory it lies
  std::vector<Index> reads_;                 // nodes that read each tensor's memory, one tensor after the other
  std::vector<std::uint32_t> first_read_;    // by port: where its readers begin
  std::vector<std::uint32_t> heavy_before_;  // by node: kernels before it that stand in no group
  std::vector<std::uint32_t> readers_;       // by port: reads of it by what is live
  std::vector<Port> source_;                 // by port: what an element-wise reader reads in its place
  std::vector<bool> fusible_;                // by node
  std::vector<bool> repeated_;               // by node: computed in every group that reads it
  std::vector<Index> group_;                 // by node
  std::vector<std::uint32_t> level_;         // by node, of those in no group
  std::vector<Group> groups_;
  std::size_t repeated_count_ = 0;
  std::vector<std::vector<Index>> members_;            // by group
  std::vector<bool> needed_;                           // by node
  std::vector<bool> read_outside_;                     // by port
  std::vector<Port> renamed_;                          // by port: its number in the new graph
  std::unordered_map<Port, std::uint32_t> update_of_;  // by port: the input that it updates
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
  rules.insert(rules.end(), counts.updates.begin(), counts.updates.end());
  return out;
}

}  // namespace tyto::optimiser
