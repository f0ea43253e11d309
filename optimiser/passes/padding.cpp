// SPDX-License-Identifier: MIT
// Padding: zeros that are put around an image before a convolution become padding of the convolution, which never
// stores them. Exporters of models write it so where both sides get different counts.
#include "core/graph/op_ids.hpp"
#include "optimiser/passes/families.hpp"
#include "optimiser/passes/magnitude.hpp"
#include "optimiser/passes/rule.hpp"

namespace tyto::optimiser {

namespace {

using core::PadAttributes;
using core::WindowAttributes;

const PadAttributes& padding_of(const Match& m) { return m.editor.attributes_as<PadAttributes>(m.node(1)); }

const Condition zeros_around{"zeros are added, along spatial axes only", [](const Match& m) {
                               const PadAttributes& p = padding_of(m);
                               return p.mode == core::PadMode::constant && p.value.as_double() == 0 &&
                                      p.before[0] == 0 && p.after[0] == 0 && p.before.back() == 0 &&
                                      p.after.back() == 0;
                             }};
// Padding is not multiplied: zero times infinity would be NaN.
const Condition finite_weights{"w is a constant of finite numbers, or fast_math", [](const Match& m) {
                                 const std::optional<Magnitude> w = magnitude_of(m.editor, m.tensor('w'));
                                 return m.context.fast_math || (w && w->finite);
                               }};

Port padded_convolution(Match& m) {
  const PadAttributes& p = padding_of(m);
  auto window = m.editor.attributes_as<WindowAttributes>(m.root);
  for (std::size_t i = 0; i < window.before.size(); ++i) {
    window.before[i] += p.before[i + 1];
    window.after[i] += p.after[i + 1];
  }
  const Port operands[] = {m.tensor('x'), m.tensor('w')};
  return m.editor.add(m.root, OpId::convolution, std::move(window), operands);
}

// clang-format off
const Rule padding_table[] = {
    {"padding_of_convolution", "convolution(pad(x), w)", "convolution(x, w), padded", {&zeros_around, &finite_weights}, padded_convolution},
};
// clang-format on

}  // namespace

std::span<const Rule> padding_rules() { return padding_table; }

}  // namespace tyto::optimiser
