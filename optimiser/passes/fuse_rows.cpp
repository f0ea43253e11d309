// SPDX-License-Identifier: MIT
// Groups that continue after a reduction: softmaxes, normalisations, losses.
#include "core/graph/op_ids.hpp"
#include "optimiser/passes/fuser.hpp"

#include "core/loop/loop_rows.hpp"
#include "core/value/shape.hpp"

namespace tyto::optimiser {

std::optional<IntList> Fuser::last_axes(Index i) const {
  const GraphNode& each = node(i);
  if (!live_[i] || !core::may_fold(each.op) || !device_reduces(each)) return std::nullopt;
  IntList axes;
  if (const auto* variance = std::get_if<core::VarianceAttributes>(&graph_.attributes(each))) {
    if (variance->ddof != 0) return std::nullopt;
    axes = variance->axes;
  } else {
    axes = std::get<core::AxesAttributes>(graph_.attributes(each)).axes;
  }
  std::ranges::sort(axes);
  const Shape& from = shape(graph_.inputs_of(each)[0]);
  std::int64_t length = 1;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t axis = from.size() - axes.size() + k;
    if (axes[k] != static_cast<std::int64_t>(axis)) return std::nullopt;
    length *= from[axis];
  }
  const bool fits = length >= shortest_row && length <= longest_row && element_count(from) != 0;
  return fits ? std::optional(axes) : std::nullopt;
}

Port Fuser::seen_by(Index i, Port input) {
  const Port port = source_[input];
  const Index group = group_of(i);
  if (group == none || groups_[group].axes.empty()) return port;
  const Port row = row_behind(port);
  return row != port && group_of(graph_.producer(row)) == group ? row : port;
}

Port Fuser::row_behind(Port port) const {
  const GraphNode& producer = node(graph_.producer(port));
  if (producer.op != OpId::reshape) return port;
  const Port from = source_[graph_.inputs_of(producer)[0]];
  return element_count(shape(from)) == element_count(shape(port)) ? from : port;
}

std::vector<std::uint32_t> Fuser::unit_for(const Rows& rows, Index i) {
  if (i >= size() || is_in(rows, i)) return {};
  const Index group = group_of(i);
  if (group == none) {
    const auto axes = last_axes(i);
    if (axes != rows.axes || shape(graph_.inputs_of(node(i))[0]) != rows.shape) return {};
    return {i};
  }
  if (!groups_[group].axes.empty()) return {};
  const Shape& own = shape(node(i).first_result);
  const Shape reduced = core::reduced_shape(rows.shape, rows.axes, true);
  if (own != rows.shape && own != reduced && own != core::reduced_shape(rows.shape, rows.axes, false)) return {};
  std::vector<Index> nodes;
  each_member(group, [&](Index member) { nodes.push_back(member); });
  return nodes;
}

// No node outside may lie between members, in the recorded order and on any path, and one kernel must hold all: so many
// steps, inputs, and reductions one after the other.
bool Fuser::may_be_one(const Rows& rows) {
  const Shape reduced = core::reduced_shape(rows.shape, rows.axes, true);
  std::size_t heavy = 0, steps = 0;
  Inputs inputs;
  std::vector<std::size_t> depths;  // by member: reductions up to it
  for (const Index i : rows.nodes) {
    heavy += fusible_[i] ? 0 : 1;
    steps += fusible_[i] ? steps_of(i) : 1;
    for (const Index consumer : consumers_of(node(i).first_result)) {
      if (consumer < size() && !is_in(rows, consumer) && level_of(consumer) <= rows.highest) return false;
    }
    const bool whole_reader = fusible_[i] && shape(node(i).first_result) == rows.shape;
    bool right = true;
    std::size_t depth = fusible_[i] ? 0 : 1;
    const auto visit = [&](Port port) {
      const Port row = row_behind(port);
      const auto member = std::ranges::lower_bound(rows.nodes, graph_.producer(row));
      if (member == rows.nodes.end() || *member != graph_.producer(row)) {
        // A transposed or cut view of a member's memory would be read before it is computed.
        right = right && !is_in(rows, graph_.producer(memory_of_[port])) && inputs.add(port);
        return;
      }
      depth = std::max(depth, depths[static_cast<std::size_t>(member - rows.nodes.begin())] + (fusible_[i] ? 0 : 1));
      const bool whole = fusible_[graph_.producer(row)] && shape(row) == rows.shape;
      const Shape& as_read = shape(port);
      right = right && (whole ? row == port : as_read == (whole_reader ? reduced : shape(node(i).first_result)));
    };
    if (fusible_[i]) each_operand(i, visit);
    else visit(graph_.inputs_of(node(i))[0]);
    if (!right || depth > most_stages) return false;
    depths.push_back(depth);
  }
  return steps <= most_steps && heavy_before_[rows.nodes.back() + 1] - heavy_before_[rows.nodes.front()] == heavy;
}

// A whole result whose other readers all run before the last member would have been freed by then.
bool Fuser::keeps_results_longer(const Rows& rows) {
  return std::ranges::any_of(rows.nodes, [&](Index member) {
    const Port port = node(member).first_result;
    if (!fusible_[member] || shape(port) != rows.shape) return false;
    const std::span<const Index> consumers = consumers_of(port);
    const auto other = std::find_if(consumers.rbegin(), consumers.rend(),
                                    [&](Index consumer) { return consumer >= size() || !is_in(rows, consumer); });
    return other != consumers.rend() && *other < rows.nodes.back();
  });
}

// Readers of a member on one level join together: each alone would leave the others between members.
bool Fuser::try_add(Rows& rows, Index i) {
  if (is_in(rows, i)) return false;
  Rows larger = rows;
  std::vector<Index> wanted{i};
  std::size_t units = 0;
  const auto want_readers_of = [&](Index member) {
    const std::span<const Index> consumers = consumers_of(node(member).first_result);
    if (consumers.size() > most_steps) return;
    for (const Index consumer : consumers) {
      const bool beside = consumer < size() && !is_in(larger, consumer) && level_of(consumer) <= larger.highest;
      if (beside && std::ranges::find(wanted, consumer) == wanted.end()) wanted.push_back(consumer);
    }
  };
  while (!wanted.empty()) {
    const Index next = wanted.back();
    wanted.pop_back();
    if (is_in(larger, next)) continue;
    const std::vector<Index> more = unit_for(larger, next);
    if (more.empty() || larger.nodes.size() + more.size() > most_steps) return false;
    ++units;
    larger.nodes.insert(larger.nodes.end(), more.begin(), more.end());
    std::ranges::sort(larger.nodes);
    const bool rose = level_of(next) > larger.highest;
    larger.highest = std::max(larger.highest, level_of(next));
    std::ranges::for_each(rose ? larger.nodes : more, want_readers_of);
  }
  if (!may_be_one(larger) || (units > 1 && keeps_results_longer(larger))) return false;
  rows = std::move(larger);
  return true;
}

void Fuser::grow(Rows& rows) {
  for (bool grown = true; grown;) {
    grown = false;
    const std::vector<Index> nodes = rows.nodes;
    for (const Index i : nodes) {
      const auto add_operand = [&](Port operand) {
        const Port port = row_behind(operand);
        grown = try_add(rows, graph_.producer(port)) || grown;
        if (fusible_[i]) return;
        const std::span<const Index> siblings = consumers_of(memory_of_[port]);
        for (const Index other : siblings.first(std::min<std::size_t>(siblings.size(), most_steps))) {
          grown = try_add(rows, other) || grown;
        }
      };
      if (fusible_[i]) each_operand(i, add_operand);
      else add_operand(source_[graph_.inputs_of(node(i))[0]]);
      const std::span<const Index> consumers = consumers_of(node(i).first_result);
      for (const Index consumer : consumers.first(std::min<std::size_t>(consumers.size(), most_steps))) {
        grown = try_add(rows, consumer) || grown;
      }
    }
  }
}

bool Fuser::is_looked_at(Port port) const {
  const GraphNode& producer = node(graph_.producer(port));
  return core::definition(producer.op).is(Traits::view) && producer.input_count != 0;
}

// Each reduction reads whole tensors as they lie in memory, whole nodes read something whole, rows read rows, and the
// group does more than to end in one reduction.
bool Fuser::is_worth_it(const Rows& rows) {
  const Shape reduced = core::reduced_shape(rows.shape, rows.axes, true);
  std::size_t folds = 0;
  bool goes_on = false;
  for (const Index i : rows.nodes) {
    const Shape& own = shape(node(i).first_result);
    const bool is_whole = fusible_[i] && own == rows.shape;
    bool reads_whole = false, outside_rows = false, reads_rows = false;
    const auto visit = [&](Port port) {
      const Port row = row_behind(port);
      const Index producer = graph_.producer(row);
      if (is_in(rows, producer)) {
        const bool whole = fusible_[producer] && shape(row) == rows.shape;
        (whole ? reads_whole : reads_rows) = true;
      } else {
        // Numbers go into the program, where they have no elements.
        const bool whole = !scalar_of(graph_, source_[port]) && !core::broadcastable(shape(port), reduced);
        (whole ? reads_whole : outside_rows) = true;
        // A view's elements may lie in another order than the reduction's own kernel would take them in.
        if (!fusible_[i] && is_looked_at(port)) reads_whole = false;
      }
    };
    if (fusible_[i]) {
      each_operand(i, visit);
      if (is_whole != reads_whole || (outside_rows && !is_whole && own != reduced)) return false;
      goes_on = goes_on || (is_whole && reads_rows);
    } else {
      visit(graph_.inputs_of(node(i))[0]);
      if (!reads_whole) return false;
      ++folds;
    }
  }
  return goes_on || folds > 1;
}

// Softmaxes, normalisations and losses: reductions of rows, what is made of them, and what reads both.
void Fuser::choose_rows() {
  for (Index i = 0; i < size(); ++i) {
    const auto axes = group_[i] == none ? last_axes(i) : std::nullopt;
    if (!axes) continue;
    Rows rows{*axes, shape(graph_.inputs_of(node(i))[0]), {i}, level_of(i)};
    grow(rows);
    if (!is_worth_it(rows)) continue;
    const auto made = static_cast<Index>(groups_.size());
    groups_.push_back({});
    Group& group = groups_.back();
    group.level = rows.highest;
    group.steps = static_cast<std::uint32_t>(rows.nodes.size());
    group.when = rows.nodes.back();
    group.axes = rows.axes;
    group.shape = rows.shape;
    group.first = rows.nodes.front();
    group.last = rows.nodes.back();
    for (std::size_t k = 0; k < rows.nodes.size(); ++k) {
      const Index member = rows.nodes[k];
      next_member_[member] = member == group.last ? none : rows.nodes[k + 1];
      if (group_of(member) != none && group_of(member) != made) groups_[group_of(member)].united_with = made;
      group_[member] = made;
    }
  }
}

}  // namespace tyto::optimiser
