// SPDX-License-Identifier: MIT
// Reshapes: they sink through element-wise operators, towards the outputs, where that lets operators that one of them
// parted come together, or where several become one. What an operator computes of each element stays what it was.
#include <algorithm>
#include <optional>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/families.hpp"
#include "optimiser/passes/rule.hpp"
#include "optimiser/passes/visit_budget.hpp"

namespace tyto::optimiser {

namespace {

using Index = GraphEditor::Index;

bool has_second_operand(const OpDef& def) { return works_on_elements(def) && def.max_inputs > 1; }
bool has_third_operand(const OpDef& def) { return works_on_elements(def) && def.max_inputs > 2; }

/// A tensor of shape `small`, which stretches to `to`, so reshaped that it stretches to `from` and meets the same
/// elements there; nothing where it runs along a part of the axes that the reshape joins or cuts.
std::optional<Shape> carried_back(const Shape& small, const Shape& from, const Shape& to) {
  Shape padded = small;
  while (padded.size() < to.size()) padded.insert(0, 1);
  Shape carried;
  // Runs of axes that hold the same elements on both sides.
  for (std::size_t i = 0, k = 0; i < from.size() && k < to.size();) {
    const std::size_t first_from = i, first_to = k;
    std::int64_t left = from[i++], right = to[k++];
    while (left != right) {
      if (left < right ? i == from.size() : k == to.size()) return std::nullopt;
      if (left < right) left *= from[i++];
      else right *= to[k++];
    }
    const auto run = [](const Shape& shape, std::size_t first, std::size_t last) {
      return std::span(shape.begin() + first, shape.begin() + last);
    };
    const auto own = run(padded, first_to, k);
    const bool whole = std::ranges::equal(own, run(to, first_to, k));
    if (!whole && !std::ranges::all_of(own, [](std::int64_t length) { return length == 1; })) return std::nullopt;
    for (std::size_t axis = first_from; axis < i; ++axis) carried.push_back(whole ? from[axis] : 1);
  }
  while (carried.size() < from.size()) carried.push_back(1);
  // Axes of length one in front are understood: as many as there were.
  while (!carried.empty() && carried[0] == 1) carried.erase(0);
  while (carried.size() < std::min(small.size(), from.size())) carried.insert(0, 1);
  return carried;
}

/// Takes an element-wise computation from the shape that it has to one that its operands had been reshaped from.
class Sinker {
 public:
  Sinker(const Match& match, Index computation)
      : match_(match), editor_(match.editor), computation_(computation), to_(editor_.shape(result_of(computation))) {
    find_source(computation, 0);
    reach_ = VisitBudget();
  }

  /// Whether all operands can be had in the other shape without moving elements.
  bool follow() { return from_.has_value() && operands_follow(computation_, 0); }
  /// Reshapes from that shape that follow() has met.
  int found() const { return found_; }

  /// The computation in the other shape; follow() has said that it can be had.
  Port sunk() { return sunk(computation_); }

 private:
  Port result_of(Index index) const { return editor_.node(index).first_result; }
  bool is_whole(Port port) const { return editor_.shape(port) == to_; }
  bool is_reshape(Index index) const { return editor_.node(index).op == OpId::reshape; }
  /// An input or a constant, which has whatever shape is asked for; it gives none, or two of them would drive each
  /// other's reshapes up and down.
  bool is_leaf(Index index) const { return editor_.node(index).input_count == 0; }
  Port seen_through_reshape(Port port) {
    const Index producer = editor_.producer(port);
    return is_reshape(producer) ? editor_.input(producer, 0) : port;
  }

  bool is_part(Port port) {
    return works_on_elements(editor_.definition(editor_.producer(port))) && is_whole(port) &&
           editor_.consumers(port) == 1;
  }

  // The shape that the first reshape on the way comes from.
  void find_source(Index index, int depth) {
    if (!reach_.allows(depth)) return;
    for (const Port port : editor_.inputs(index)) {
      if (from_) return;
      const Port source = seen_through_reshape(port);
      const bool reshaped = source != port && is_whole(port) && !is_leaf(editor_.producer(source));
      if (reshaped) from_ = editor_.shape(source);
      else if (is_part(port)) find_source(editor_.producer(port), depth + 1);
    }
  }

  bool operands_follow(Index index, int depth) {
    return reach_.allows(depth) &&
           std::ranges::all_of(editor_.inputs(index), [&](Port port) { return follows(port, depth); });
  }

  bool follows(Port port, int depth) {
    const Index producer = editor_.producer(port);
    if (!is_whole(port)) {
      // The rows of a view may lie apart, so that to reshape it would be to copy it.
      const bool view = editor_.definition(producer).is(Traits::view) && !is_leaf(producer) && !is_reshape(producer);
      return !view && carried_back(editor_.shape(port), *from_, to_).has_value();
    }
    const Port source = seen_through_reshape(port);
    if (is_leaf(editor_.producer(source))) return true;
    if (is_reshape(producer)) {
      ++found_;
      return *from_ == editor_.shape(source);
    }
    return is_part(port) && operands_follow(producer, depth + 1);
  }

  Port sunk(Index index) {
    std::vector<Port> operands(editor_.inputs(index).begin(), editor_.inputs(index).end());
    for (Port& operand : operands) operand = carried(operand);
    const auto attributes = editor_.node(index).attributes;
    return editor_.add(match_.root, editor_.node(index).op, attributes, operands);
  }

  Port carried(Port port) {
    const Index producer = editor_.producer(port);
    if (!is_whole(port)) {
      return in_shape(port, carried_back(editor_.shape(port), *from_, to_).value());
    }
    const Port source = seen_through_reshape(port);
    if (is_leaf(producer) || source != port) return in_shape(source, *from_);
    return sunk(producer);
  }

  Port in_shape(Port port, const Shape& shape) { return reshaped(editor_, match_.root, port, shape); }

  const Match& match_;
  GraphEditor& editor_;
  Index computation_;
  Shape to_;
  std::optional<Shape> from_;
  VisitBudget reach_;
  int found_ = 0;
};

const Condition computed_alone{"an element-wise operator computes x for this alone", [](const Match& m) {
                                 const Port x = m.tensor('x');
                                 return m.editor.consumers(x) == 1 &&
                                        works_on_elements(m.editor.definition(m.editor.producer(x)));
                               }};
// A reshape of a part of the result's size is stretched, and would be again.
const Condition operands_follow{
    "the reshape fills the result's shape; others follow: they are smaller and run along axes that it keeps, or inputs "
    "and constants, or reshaped from x's shape, or computed from such for this alone",
    [](const Match& m) {
      const Port reshaped = m.editor.node(m.node(1)).first_result;
      return m.editor.shape(reshaped) == m.shape() && element_count(m.shape()) != 0 && Sinker(m, m.root).follow();
    }};
const Condition several_reshaped{"another operand is reshaped from that shape, and neither is an input or constant",
                                 [](const Match& m) {
                                   Sinker sinker(m, m.root);
                                   return sinker.follow() && sinker.found() > 1;
                                 }};
const Condition reshaped_above{
    "the operator's operands were reshaped from one shape, and others follow",
    [](const Match& m) { return element_count(m.shape()) != 0 && Sinker(m, m.node(1)).follow(); }};

Port reshaped_result(Match& m, Index computation) {
  Sinker sinker(m, computation);
  if (!sinker.follow()) return core::no_port;
  const Port sunk = sinker.sunk();
  return reshaped(m.editor, m.root, sunk, m.shape());
}
Port behind_root(Match& m) { return reshaped_result(m, m.root); }
Port behind_operand(Match& m) { return reshaped_result(m, m.node(1)); }

// clang-format off
const Rule reshape_table[] = {
    // As in `views`, which sweeps before: without it, what sinks through a chain step by step, each step read through a
    // reshape besides, would come one step further a round.
    {"reshape_after_reshape", "reshape(reshape(x))",      "reshape(x)",             {}, reshaped_operand},
    {"reshape_sinks",        "op(reshape(x)!, ...)",       "reshape(op(x, ...))",    {&computed_alone, &operands_follow}, behind_root, works_on_elements},
    {"reshape_sinks_second", "op(y, reshape(x)!, ...)",    "reshape(op(y, x, ...))", {&computed_alone, &operands_follow}, behind_root, has_second_operand},
    {"reshape_sinks_third",  "op(y, z, reshape(x)!, ...)", "reshape(op(y, z, x, ...))", {&computed_alone, &operands_follow}, behind_root, has_third_operand},
    {"reshapes_join",        "op(reshape(x)!, ...)",       "reshape(op(x, ...))",    {&operands_follow, &several_reshaped}, behind_root, has_second_operand},
    {"reshapes_meet",        "reshape(op(...)!)",          "reshape(op(...)) in the shape that its operands had", {&reshaped_above}, behind_operand, works_on_elements},
};
// clang-format on

}  // namespace

std::span<const Rule> reshape_rules() { return reshape_table; }

}  // namespace tyto::optimiser
