// SPDX-License-Identifier: MIT
// Scaling: factors of the channels of a convolution or product move into its weights, as batch normalisation with
// running statistics leaves them behind it. The weights are few, the results many.
//
// The products are rounded one step earlier, so results differ in the last places; the sums stay as they were.
#include <optional>

#include "core/graph/op_ids.hpp"
#include "core/value/floating_format.hpp"
#include "optimiser/passes/families.hpp"
#include "optimiser/passes/magnitude.hpp"
#include "optimiser/passes/rule.hpp"

namespace tyto::optimiser {

namespace {

bool has_weights(const OpDef& def) { return def.id == OpId::convolution || def.id == OpId::matmul; }

/// One number, or one a channel: nothing but the last axis is longer than 1.
bool by_channel(const Shape& shape, std::int64_t channels) {
  return element_count(shape) == 1 || (element_count(shape) == channels && shape.back() == channels);
}

// A factor that runs along other axes is no factor of the weights; a product of few rows is cheaper to scale itself.
const Condition channel_factor{
    "s is one number or one a channel, and the weights are fewer than the results", [](const Match& m) {
      return m.is_floating() && by_channel(m.editor.shape(m.tensor('s')), m.shape().back()) &&
             m.editor.shape(m.tensor('w')).size() >= m.editor.shape(m.tensor('s')).size() &&
             element_count(m.editor.shape(m.tensor('w'))) < element_count(m.shape());
    }};
// With numbers that change between runs the factor would be multiplied in on each. A weight or shift that the factor
// makes infinite or takes digits from would do so whatever is added to it, where the factor of the sum may do no harm.
bool stays_normal(const Match& m, char scaled) {
  const std::optional<Magnitude> number = magnitude_of(m.editor, m.tensor(scaled));
  const std::optional<Magnitude> s = magnitude_of(m.editor, m.tensor('s'));
  if (!number || !s || !number->finite || !s->finite) return false;
  const bool divides = m.editor.node(m.root).op == OpId::divide;
  if (divides && s->has_zero) return false;
  const double most = divides ? number->most / s->least : number->most * s->most;
  const double least = divides ? number->least / s->most : number->least * s->least;
  const core::FloatingFormat format = core::format_of(m.dtype());
  return !(most > format.largest()) && !(least < format.smallest_normal());
}
const Condition constants_or_fast{
    "w and s are constants whose products are neither infinite nor below the normal numbers, "
    "or fast_math",
    [](const Match& m) { return m.context.fast_math || stays_normal(m, 'w'); }};
const Condition channel_shift{"b is one number or one a channel", [](const Match& m) {
                                return by_channel(m.editor.shape(m.tensor('b')), m.shape().back());
                              }};
const Condition constant_or_fast{"b is a constant that s leaves as normal, or fast_math",
                                 [](const Match& m) { return m.context.fast_math || stays_normal(m, 'b'); }};

/// The convolution or product, anew with other weights.
Port with_weights(Match& m, GraphEditor::Index product, Port weights) {
  const Port operands[] = {m.tensor('x'), weights};
  const Port made = m.editor.add(m.root, m.editor.node(product).op, m.editor.node(product).attributes, operands);
  m.editor.label_as(made, m.editor.node(product));
  return made;
}
/// The convolution or product among the matched nodes.
GraphEditor::Index weighted_product(const Match& m) {
  for (std::size_t i = 1;; ++i) {
    if (has_weights(m.editor.definition(m.node(i)))) return m.node(i);
  }
}

Port scaled(Match& m) {
  return with_weights(m, weighted_product(m), m.editor.add(m.root, OpId::multiply, {}, {m.tensor('w'), m.tensor('s')}));
}
Port divided(Match& m) {
  return with_weights(m, weighted_product(m), m.editor.add(m.root, OpId::divide, {}, {m.tensor('w'), m.tensor('s')}));
}
/// Shift and factor change places: (y + b) * s is y * s + b * s.
template <OpId shift, Port (*factor)(Match&), OpId scale>
Port shifted(Match& m) {
  const Port product = factor(m);
  return m.editor.add(m.root, shift, {}, {product, m.editor.add(m.root, scale, {}, {m.tensor('b'), m.tensor('s')})});
}

// clang-format off
const Rule scaling_table[] = {
    {"scaled_product",      "multiply(op(x, w)!, s)",              "op(x, multiply(w, s))", {&channel_factor, &constants_or_fast}, scaled, has_weights},
    {"divided_product",     "divide(op(x, w)!, s)",                "op(x, divide(w, s))",   {&channel_factor, &constants_or_fast}, divided, has_weights},
    {"shifted_and_scaled",  "multiply(add(op(x, w)!, b)!, s)",      "add(op(x, multiply(w, s)), multiply(b, s))", {&channel_factor, &constants_or_fast, &channel_shift, &constant_or_fast}, shifted<OpId::add, scaled, OpId::multiply>, has_weights},
    {"shifted_and_divided", "divide(add(op(x, w)!, b)!, s)",        "add(op(x, divide(w, s)), divide(b, s))", {&channel_factor, &constants_or_fast, &channel_shift, &constant_or_fast}, shifted<OpId::add, divided, OpId::divide>, has_weights},
    {"centred_and_scaled",  "multiply(subtract(op(x, w)!, b)!, s)", "subtract(op(x, multiply(w, s)), multiply(b, s))", {&channel_factor, &constants_or_fast, &channel_shift, &constant_or_fast}, shifted<OpId::subtract, scaled, OpId::multiply>, has_weights},
    {"centred_and_divided", "divide(subtract(op(x, w)!, b)!, s)",   "subtract(op(x, divide(w, s)), divide(b, s))", {&channel_factor, &constants_or_fast, &channel_shift, &constant_or_fast}, shifted<OpId::subtract, divided, OpId::divide>, has_weights},
};
// clang-format on

}  // namespace

std::span<const Rule> scaling_rules() { return scaling_table; }

}  // namespace tyto::optimiser
