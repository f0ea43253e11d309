// Moves through ops/elementwise.def: any operator of the list on whatever tensors there are.
#include <algorithm>

#include "engine/core/operator.hpp"
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
  const bool whole = def.domain == core::Domain::bitwise || def.domain == core::Domain::shift;
  if (whole && is_floating(x.dtype())) return cast(x, drawing.dice().of({DType::i32, DType::i64, DType::u8}));
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

}  // namespace

TYTO_FUZZ_MOVES(elementwise_moves, {"elementwise", 30, elementwise<M>}, {"arithmetic", 30, arithmetic<M>})

}  // namespace tyto::fuzz
