// SPDX-License-Identifier: MIT
// Reductions: of equal elements without adding them up, of reductions at once; products of vectors as sums.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "core/value/shape.hpp"
#include "optimiser/passes/families.hpp"
#include "optimiser/passes/rule.hpp"

namespace tyto::optimiser {

namespace {

using core::AxesAttributes;

const AxesAttributes& axes_of(const Match& m, std::size_t node) {
  return m.editor.attributes_as<AxesAttributes>(m.node(node));
}
const Shape& shape_of_node(const Match& m, std::size_t node) {
  return m.editor.shape(m.editor.node(m.node(node)).first_result);
}

// A sum begins with 0, so that of -0 it is 0.
Port plus_zero(Match& m, Port x) {
  if (!is_floating(m.dtype())) return x;
  return m.editor.add(m.root, OpId::add, {}, {x, m.editor.add_scalar(m.root, 0.0, m.dtype())});
}

// Sums of sums add in another order, which rounds differently; extremes and truth values do not round.
bool order_is_free(const OpDef& def) {
  return def.id == OpId::min || def.id == OpId::max || def.id == OpId::any || def.id == OpId::all;
}
// The result of equal elements is that element.
bool keeps_equal(const OpDef& def) { return def.id == OpId::mean || order_is_free(def); }

/// x as stretched by the broadcast, with ones in front so that it has all axes.
Shape padded(const Match& m) {
  Shape shape = m.editor.shape(m.tensor('x'));
  while (shape.size() < shape_of_node(m, 1).size()) shape.insert(0, 1);
  return shape;
}
// Only what the reduction goes over was stretched, so that nothing of the broadcast is left.
const Condition stretched_along_axes{"all axes were stretched from 1, none is empty", [](const Match& m) {
                                       const Shape from = padded(m);
                                       return std::ranges::all_of(axes_of(m, 0).axes, [&](std::int64_t axis) {
                                         const auto i = static_cast<std::size_t>(axis);
                                         return from[i] == 1 && shape_of_node(m, 1)[i] != 0;
                                       });
                                     }};
/// x without the axes reduced over; it then stretches to the root's shape.
Port reshaped_without_axes(Match& m) {
  const AxesAttributes& axes = axes_of(m, 0);
  const Shape shape = core::reduced_shape(padded(m), axes.axes, axes.keepdims);
  return reshaped(m.editor, m.root, m.tensor('x'), shape);
}
Port one_of_equal(Match& m) {
  const Port x = reshaped_without_axes(m);
  return m.editor.node(m.root).op == OpId::mean ? plus_zero(m, x) : x;
}

std::int64_t repetitions(const Match& m) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes_of(m, 0).axes) count *= shape_of_node(m, 1)[static_cast<std::size_t>(axis)];
  return count;
}
// In f16 a count above 2048 would be rounded, and the sum with it.
const Condition count_is_exact{
    "the count is exact in the element type", [](const Match& m) {
      const DType type = m.dtype();
      const int digits = type == DType::f16 ? 11 : type == DType::bf16 ? 8 : type == DType::f32 ? 24 : 53;
      return m.editor.dtype(m.tensor('x')) == type && repetitions(m) <= (std::int64_t{1} << digits);
    }};
Port times_count(Match& m) {
  const Port count = m.editor.add_scalar(m.root, static_cast<double>(repetitions(m)), m.dtype());
  return plus_zero(m, m.editor.add(m.root, OpId::multiply, {}, {reshaped_without_axes(m), count}));
}

bool adds_up(const OpDef& def) { return def.id == OpId::sum || def.id == OpId::prod; }
Port single_reduction(Match& m) {
  const AxesAttributes& inner = axes_of(m, 1);
  const AxesAttributes& outer = axes_of(m, 0);
  std::vector<bool> reduced(m.editor.shape(m.tensor('x')).size(), false);
  for (const std::int64_t axis : inner.axes) reduced[static_cast<std::size_t>(axis)] = true;
  std::vector<std::size_t> left;  // axes of x that the inner result still has
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (inner.keepdims || !reduced[i]) left.push_back(i);
  }
  for (const std::int64_t axis : outer.axes) reduced[left[static_cast<std::size_t>(axis)]] = true;
  AxesAttributes all;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i]) all.axes.push_back(static_cast<std::int64_t>(i));
  }
  const Port result = m.editor.add(m.root, m.editor.node(m.root).op, std::move(all), {m.tensor('x')});
  return reshaped(m.editor, m.root, result, m.shape());
}

// A product of vectors is a sum. As one it is fused with what computes its operands, so that these are not stored, and
// it is added up as sums are, in the order that loses fewer digits.
const Condition one_row_and_column{"one row by one column", [](const Match& m) {
                                     const Shape& left = m.editor.shape(m.tensor('x'));
                                     return left[left.size() - 2] == 1 && m.editor.shape(m.tensor('y')).back() == 1;
                                   }};
// Products of 16-bit types add up what they do not round first.
const Condition wide_floating{"f32 or f64",
                              [](const Match& m) { return m.dtype() == DType::f32 || m.dtype() == DType::f64; }};
bool is_computed_by_element(GraphEditor& editor, Port port) {
  GraphEditor::Index producer = editor.producer(port);
  while (editor.definition(producer).is(core::Traits::view) && editor.node(producer).input_count != 0) {
    producer = editor.producer(editor.input(producer, 0));
  }
  return editor.definition(producer).is(core::Traits::elementwise);
}
const Condition operand_by_element{"x or y is computed element by element", [](const Match& m) {
                                     return is_computed_by_element(m.editor, m.tensor('x')) ||
                                            is_computed_by_element(m.editor, m.tensor('y'));
                                   }};
bool is_reshaped_from(GraphEditor& editor, Port port, const Shape& shape) {
  const GraphEditor::Index producer = editor.producer(port);
  return editor.node(producer).op == OpId::reshape && editor.shape(editor.input(producer, 0)) == shape;
}
Port sum_of_products(Match& m) {
  // Vectors were given an axis of length 1 to be multiplied as matrices; without it they are what was computed.
  Shape left = m.editor.shape(m.tensor('x')), right = m.editor.shape(m.tensor('y'));
  left.erase(left.size() - 2);
  right.erase(right.size() - 1);
  if (!is_reshaped_from(m.editor, m.tensor('x'), left) && !is_reshaped_from(m.editor, m.tensor('y'), right)) {
    left.insert(left.size() - 1, 1);
    right.insert(right.size() - 1, 1);
  }
  const Port x = reshaped(m.editor, m.root, m.tensor('x'), left);
  const Port y = reshaped(m.editor, m.root, m.tensor('y'), right);
  const Port products = m.editor.add(m.root, OpId::multiply, core::NoAttributes{}, {x, y});
  AxesAttributes last;
  last.axes.push_back(static_cast<std::int64_t>(left.size()) - 1);
  const Port sums = m.editor.add(m.root, OpId::sum, std::move(last), {products});
  return reshaped(m.editor, m.root, sums, m.shape());
}

// clang-format off
const Rule reduction_table[] = {
    {"reduction_of_equal",     "op(broadcast_to(x))",     "reshape(x)",                  {&stretched_along_axes}, one_of_equal, keeps_equal},
    {"sum_of_equal",           "sum(broadcast_to(x))",    "add(multiply(reshape(x), count), 0)", {&stretched_along_axes, &count_is_exact}, times_count},
    {"extreme_of_extremes",    "op(op(x)!)",              "op(x)",                       {}, single_reduction, order_is_free},
    {"sum_of_sums",            "op(op(x)!)",              "op(x)",                       {&integral_or_fast}, single_reduction, adds_up},
    {"inner_product",          "matmul(x, y)",            "reshape(sum(multiply(reshape(x), reshape(y))))", {&one_row_and_column, &wide_floating, &operand_by_element}, sum_of_products},
};
// clang-format on

}  // namespace

std::span<const Rule> reduction_rules() { return reduction_table; }

}  // namespace tyto::optimiser
