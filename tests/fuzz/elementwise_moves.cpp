// SPDX-License-Identifier: MIT
// Moves through ops/elementwise.def: any operator of the list on whatever tensors there are.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "tests/fuzz/drawing.hpp"

namespace tyto::fuzz {

namespace {

const std::vector<const core::OpDef*>& listed() {
  static const std::vector<const core::OpDef*> list = [] {
    std::vector<const core::OpDef*> found;
    for (const core::OpDef& def : core::op_table()) {
      if (core::is_listed_elementwise(def.id)) found.push_back(&def);
    }
    return found;
  }();
  return list;
}

// Most operands are brought into the interval that the operator is meant for; some are left to give NaN and infinity.
template <class M>
Tensor<M> fitted(Drawing<M>& drawing, const core::OpDef& def, const Tensor<M>& x) {
  const bool whole = def.domain == core::Domain::bitwise || def.domain == core::Domain::integer;
  if (whole && is_floating(x.dtype()))
    return cast(x, drawing.dice().of({DType::i32, DType::i64, DType::u8, DType::u32, DType::u64}));
  const bool anything = def.low <= -3 && def.high >= 3;
  if (anything || !is_floating(x.dtype()) || drawing.dice().one_in(12)) return x;
  const Tensor<M> scaled = drawing.perturbed(tanh(x)) * (0.5 * (def.high - def.low));
  return drawing.perturbed(drawing.perturbed(scaled) + 0.5 * (def.high + def.low));
}

template <class M>
Tensor<M> apply(Drawing<M>& drawing, const core::OpDef& def) {
  const Tensor<M> first = drawing.any();
  std::vector<Value> operands;
  for (int i = 0; i < def.min_inputs; ++i) {
    operands.push_back(core::operand(fitted(drawing, def, i == 0 ? first : drawing.beside(first))));
  }
  if (def.min_inputs == 2 && drawing.dice().one_in(2)) std::swap(operands[0], operands[1]);
  return Tensor<M>(core::emit_elementwise(def.id, operands));
}

template <class M>
Tensor<M> elementwise(Drawing<M>& drawing) {
  return apply(drawing, *drawing.dice().from(listed()));
}

// The arithmetic that most rules are about.
template <class M>
Tensor<M> arithmetic(Drawing<M>& drawing) {
  using enum core::OpId;
  const core::OpId op = drawing.dice().of({add, subtract, multiply, divide, negate, square, exp, log, sqrt, power,
                                           maximum, minimum, where, fma, reciprocal, relu, abs, clip});
  return apply(drawing, core::definition(op));
}

// Small trees over few operands: what rewrite rules look for, which chance alone would seldom put together.
template <class M>
Tensor<M> tree(Drawing<M>& d, const std::vector<Tensor<M>>& leaves, int depth) {
  Dice& dice = d.dice();
  if (depth == 0) {
    if (dice.one_in(3)) return Tensor<M>(dice.of({0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0}));
    return d.perturbed(dice.from(leaves));
  }
  const auto below = [&] { return d.perturbed(tree(d, leaves, dice.one_in(3) ? 0 : depth - 1)); };
  const Tensor<M> a = below();
  switch (dice.below(34)) {
    case 0: return negate(a);
    case 1: return abs(a);
    case 2: return square(a);
    case 3: return sqrt(abs(a));
    case 4: return exp(d.perturbed(tanh(a)));
    case 5: return log(d.perturbed(exp(d.perturbed(tanh(a)))));
    case 6: return exp(d.perturbed(log(d.perturbed(abs(a) + 0.5))));
    case 7: return reciprocal(a);
    case 8: return power(a, Tensor<M>(dice.of({0.0, -0.0, 0.5, -0.5, 1.0, 2.0, 3.0, -1.0})));
    case 9: return relu(a);
    case 10: return logical_not(dice.one_in(2) ? less(a, below()) : equal(a, below()));
    case 11: return cast(a, d.dtype());
    case 12: return where(greater(a, below()), a, below());
    case 13: return where(a, below(), below());
    case 14: return clip(a, Tensor<M>(-1.0), Tensor<M>(1.0));
    case 15: return maximum(a, below());
    case 16: return minimum(a, below());
    case 17:
    case 18:
    case 19: return a - below();
    case 20:
    case 21: return a + below();
    case 22:
    case 23:
    case 24: return a * below();
    case 25: return log(d.perturbed(1.0 + d.perturbed(exp(d.perturbed(tanh(a))))));
    case 26: return d.perturbed(exp(d.perturbed(tanh(a)))) - 1.0;
    case 27: return 1.0 / d.perturbed(1.0 + d.perturbed(exp(-a)));
    case 28: return log(d.perturbed(sigmoid(a)));
    case 29: return log(d.perturbed(power(d.perturbed(abs(a)), Tensor<M>(2.0))));
    case 30: return logical_not(logical_not(greater(a, below())));
    case 31: return cast(a, a.dtype());
    default: return a / below();
  }
}

template <class M>
Tensor<M> expression(Drawing<M>& d) {
  const Tensor<M> x = d.any();
  return tree(d, {x, x, d.beside(x)}, static_cast<int>(d.dice().between(2, 4)));
}

}  // namespace

TYTO_FUZZ_MOVES(elementwise_moves, {"elementwise", 30, elementwise<M>}, {"arithmetic", 20, arithmetic<M>},
                {"expression", 30, expression<M>})

}  // namespace tyto::fuzz
