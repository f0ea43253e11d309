// SPDX-License-Identifier: MIT
// Epilogues: the scale, the bias, the residual and the ReLU that follow a product are applied where its sums are still
// in cache. It runs when the rounds of the other passes are over, so that no rule waits in vain for a plain product.
//
// The scale is what batch normalisation with running statistics leaves behind a convolution whose weights may change
// between runs, so that folding the one into the others would cost more than it saves. Bias and residual are added to
// finished sums and ReLU is taken last, as by operators of their own, save where a kernel that cuts the inner dimension
// adds one of them before the last part.
#include <cmath>
#include <utility>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/families.hpp"
#include "optimiser/passes/rule.hpp"

namespace tyto::optimiser {

namespace {

using core::ProductAttributes;
using Index = GraphEditor::Index;

bool is_plain(OpId op) { return op == OpId::matmul || op == OpId::convolution; }
bool is_convolution(const OpDef& def) { return def.id == OpId::convolution; }
bool is_product(const OpDef& def) {
  return is_plain(def.id) || def.id == OpId::matmul_epilogue || def.id == OpId::convolution_epilogue;
}

/// The product among the matched nodes, which may stand behind a reshape.
Index product_in(const Match& m) { return is_product(m.editor.definition(m.node(1))) ? m.node(1) : m.node(2); }

const ProductAttributes& epilogue_of(const GraphEditor& editor, Index product) {
  static const ProductAttributes nothing;
  return is_plain(editor.node(product).op) ? nothing : editor.attributes_as<ProductAttributes>(product);
}

OpId with_epilogue(OpId op) {
  if (op == OpId::matmul) return OpId::matmul_epilogue;
  if (op == OpId::convolution) return OpId::convolution_epilogue;
  return op;
}

bool device_takes(const Match& m, Index product) {
  if (!m.context.options.supports) return true;
  const DType result = m.dtype();
  const DType operands[] = {result, result, result, result, result};
  return m.context.options.supports(with_epilogue(m.editor.node(product).op), operands, {&result, 1});
}

// Integers gain nothing. Packed weights are laid out for the epilogue that the product had.
const Condition taken{"floating; of the product's shape, on a device that has it, weights not packed",
                      [](const Match& m) {
                        const Port product = m.editor.node(m.node(1)).first_result;
                        return m.is_floating() && m.editor.shape(product) == m.shape() &&
                               !epilogue_of(m.editor, product_in(m)).packed && device_takes(m, product_in(m));
                      }};
const Condition bare{"the product has no epilogue yet", [](const Match& m) {
                       const ProductAttributes& epilogue = epilogue_of(m.editor, product_in(m));
                       return !epilogue.bias && !epilogue.residual && !epilogue.is_limited();
                     }};
bool by_channel(const Match& m, char letter) {
  const Shape& shape = m.editor.shape(m.tensor(letter));
  const Shape& product = m.editor.shape(m.editor.node(product_in(m)).first_result);
  // An inner product, reshaped to a single number, has no axis of channels.
  if (m.shape().empty() || shape.empty()) return false;
  const std::int64_t channels = m.shape().back();
  return shape.back() == channels && element_count(shape) == channels && product.back() == channels;
}
const Condition one_a_channel{"b is one number a channel of the product",
                              [](const Match& m) { return by_channel(m, 'b'); }};
const Condition scale_a_channel{
    "s is one number a channel of the product; wider than 16 bits; no scale yet", [](const Match& m) {
      return by_channel(m, 's') && size_of(m.dtype()) > 2 && !epilogue_of(m.editor, product_in(m)).scale;
    }};
// An element-wise operand that only this sum reads costs nothing when it is computed along with the sum.
const Condition free_residual{
    "r has the result's shape and is no element-wise operator's for this sum alone; neither residual nor "
    "limits yet",
    [](const Match& m) {
      const ProductAttributes& epilogue = epilogue_of(m.editor, product_in(m));
      const Port residual = m.tensor('r');
      const bool alone =
          m.editor.consumers(residual) == 1 && m.editor.definition(m.editor.producer(residual)).is(Traits::elementwise);
      return !epilogue.residual && !epilogue.is_limited() && m.editor.shape(residual) == m.shape() && !alone;
    }};
const Condition unlimited{"no limits yet",
                          [](const Match& m) { return !epilogue_of(m.editor, product_in(m)).is_limited(); }};
const Condition no_upper_limit{"no upper limit yet",
                               [](const Match& m) { return std::isinf(epilogue_of(m.editor, product_in(m)).high); }};
const Condition low_is_number{"C is not NaN", [](const Match& m) { return !std::isnan(m.number('C').as_double()); }};
const Condition high_is_number{"D is not NaN", [](const Match& m) { return !std::isnan(m.number('D').as_double()); }};

Port view_as(Match& m, Port port, Shape shape) {
  if (m.editor.shape(port) == shape) return port;
  return m.editor.add(m.root, OpId::reshape, core::ListAttributes{std::move(shape)}, {port});
}

enum class EpiloguePart { scale, scale_and_bias, bias, subtracted_bias, residual, relu, low, high, limits };

template <EpiloguePart part>
Port absorb(Match& m) {
  const Index product = product_in(m);
  const OpId op = with_epilogue(m.editor.node(product).op);
  // Copies: adding nodes moves what the editor holds.
  const Shape shape = m.editor.shape(m.editor.node(product).first_result), result = m.shape();
  ProductAttributes epilogue = epilogue_of(m.editor, product);
  if (m.editor.node(product).op == OpId::convolution) {
    epilogue.window = m.editor.attributes_as<core::WindowAttributes>(product);
  }
  const auto inputs = m.editor.inputs(product);
  std::vector<Port> operands(inputs.begin(), inputs.end());
  const auto channel_operand = [&](char letter) { return view_as(m, m.tensor(letter), {shape.back()}); };
  switch (part) {
    case EpiloguePart::scale_and_bias: epilogue.bias = true; [[fallthrough]];
    case EpiloguePart::scale:
      epilogue.scale = true;
      operands.push_back(channel_operand('s'));
      if (part == EpiloguePart::scale_and_bias) operands.push_back(channel_operand('b'));
      break;
    case EpiloguePart::bias:
    case EpiloguePart::subtracted_bias: {
      epilogue.bias = true;
      Port bias = channel_operand('b');
      if (part == EpiloguePart::subtracted_bias)
        bias = m.editor.add(m.root, OpId::negate, core::NoAttributes{}, {bias});
      operands.push_back(bias);
      break;
    }
    case EpiloguePart::residual:
      epilogue.residual = true;
      operands.push_back(view_as(m, m.tensor('r'), shape));
      break;
    case EpiloguePart::relu: epilogue.low = 0; break;
    case EpiloguePart::low:
    case EpiloguePart::limits: epilogue.low = m.number('C').as_double(); break;
    case EpiloguePart::high: break;
  }
  if (part == EpiloguePart::high || part == EpiloguePart::limits) epilogue.high = m.number('D').as_double();
  epilogue.drops_nan = epilogue.is_limited() && m.context.fast_math;
  const Port made = m.editor.add(m.root, op, std::move(epilogue), operands);
  m.editor.label_as(made, m.editor.node(product));  // whose work it is, not that of the bias or limit
  return view_as(m, made, result);
}

// clang-format off
const Rule epilogue_table[] = {
    {"scale",             "multiply(op(x, w)!, s)",                "op(x, w, s)",          {&taken, &bare, &scale_a_channel}, absorb<EpiloguePart::scale>, is_convolution},
    {"scale_and_bias",    "fma(op(x, w)!, s, b)",                  "op(x, w, s, b)",       {&taken, &bare, &scale_a_channel, &one_a_channel}, absorb<EpiloguePart::scale_and_bias>, is_convolution},
    {"factor_and_bias",   "fma(s, op(x, w)!, b)",                  "op(x, w, s, b)",       {&taken, &bare, &scale_a_channel, &one_a_channel}, absorb<EpiloguePart::scale_and_bias>, is_convolution},
    {"bias",              "add(op(x, w, ...)!, b)",                "op(x, w, b)",          {&taken, &bare, &one_a_channel}, absorb<EpiloguePart::bias>, is_product},
    {"subtracted_bias",   "subtract(op(x, w, ...)!, b)",           "op(x, w, negate(b))",  {&taken, &bare, &one_a_channel}, absorb<EpiloguePart::subtracted_bias>, is_product},
    {"residual",          "add(op(x, w, ...)!, r)",                "op(x, w, ..., r)",     {&taken, &free_residual},             absorb<EpiloguePart::residual>, is_product},
    {"relu",              "relu(op(x, w, ...)!)",                  "op(x, w, ...) limited to [0, inf]", {&taken, &unlimited}, absorb<EpiloguePart::relu>, is_product},
    {"lower_limit",       "maximum(op(x, w, ...)!, C)",            "op(x, w, ...) limited to [C, inf]", {&taken, &unlimited, &low_is_number}, absorb<EpiloguePart::low>, is_product},
    {"upper_limit",       "minimum(op(x, w, ...)!, D)",            "op(x, w, ...) limited to [.., D]", {&taken, &no_upper_limit, &high_is_number}, absorb<EpiloguePart::high>, is_product},
    {"limits",            "clip(op(x, w, ...)!, C, D)",            "op(x, w, ...) limited to [C, D]", {&taken, &unlimited, &low_is_number, &high_is_number}, absorb<EpiloguePart::limits>, is_product},
    {"bias_of_reshaped",     "add(reshape(op(x, w, ...)!)!, b)",   "reshape(op(x, w, b))", {&taken, &bare, &one_a_channel}, absorb<EpiloguePart::bias>, is_product},
    {"residual_of_reshaped", "add(reshape(op(x, w, ...)!)!, r)",   "reshape(op(x, w, ..., reshape(r)))", {&taken, &free_residual}, absorb<EpiloguePart::residual>, is_product},
    {"relu_of_reshaped",     "relu(reshape(op(x, w, ...)!)!)",     "reshape(op(x, w, ...) limited to [0, inf])", {&taken, &unlimited}, absorb<EpiloguePart::relu>, is_product},
};
// clang-format on

}  // namespace

std::span<const Rule> epilogue_rules() { return epilogue_table; }

void absorb_epilogues(PassContext& context) {
  static const RuleSet set(epilogue_table);
  for (std::uint64_t before = context.editor.edits() + 1; before != context.editor.edits();) {
    before = context.editor.edits();
    set.apply(context);
  }
}

}  // namespace tyto::optimiser
