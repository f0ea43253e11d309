// SPDX-License-Identifier: MIT
// Selects NEON instructions for each operation of a body.
#if defined(TYTO_HAVE_VIXL)

#include <algorithm>
#include <stdexcept>

#include "devices/cpu/loop/jit/aarch64_function.hpp"

namespace tyto::cpu::jit {

using namespace vixl::aarch64;

void AArch64Function::emit(Value value) {
  const Instruction& instruction = spec_.code[value];
  switch (instruction.op) {
    case Op::load: return emit_load(value);
    case Op::broadcast: return emit_broadcast(value);
    case Op::call:
    case Op::call_unless: return emit_call(value);
    case Op::multiply_add:
    case Op::multiply_subtract:
    case Op::multiply_add_negated: return emit_multiply_add(value);
    case Op::select: return emit_select(value);
    case Op::convert:
    case Op::resize: return emit_convert(value);
    case Op::round_half: return emit_round_half(value);
    case Op::minimum:
    case Op::maximum: return instruction.lane == Lane::i32 ? emit_binary(value) : emit_extreme(value);
    case Op::shift_left_by:
    case Op::shift_right_signed_by: return emit_shift_by(value);
    default: return instruction.operands[1] == no_value ? emit_unary(value) : emit_binary(value);
  }
}

void AArch64Function::emit_unary(Value value) {
  const Instruction& instruction = spec_.code[value];
  const int a = in_register(operand(value, 0)), d = result_register(value);
  const VRegister to = vector_of(value, d), from = vector_of(value, a);
  const auto count = static_cast<int>(instruction.immediate);
  switch (instruction.op) {
    case Op::square_root: Fsqrt(to, from); break;
    case Op::absolute: Abs(to, from); break;
    case Op::round: Frintn(to, from); break;
    case Op::floor: Frintm(to, from); break;
    case Op::ceil: Frintp(to, from); break;
    case Op::trunc: Frintz(to, from); break;
    case Op::shift_left: Shl(to, from, count); break;
    // Shifts to the right are by 1 at least.
    case Op::shift_right: count == 0 ? move(d, a) : Ushr(to, from, count); break;
    case Op::shift_right_signed: count == 0 ? move(d, a) : Sshr(to, from, count); break;
    default: throw std::logic_error("jit: an operation has no instruction");
  }
  settle(value, d);
}

void AArch64Function::emit_binary(Value value) {
  struct Row {
    Op op;
    ThreeVectors floats, integers;
    bool swapped = false, inverted = false;
  };
  using M = MacroAssembler;
  static constexpr Row table[] = {
      {Op::add, &M::Fadd, &M::Add},
      {Op::subtract, &M::Fsub, &M::Sub},
      {Op::multiply, &M::Fmul, &M::Mul},
      {Op::divide, &M::Fdiv, nullptr},
      {Op::minimum, nullptr, &M::Smin},
      {Op::maximum, nullptr, &M::Smax},
      {Op::bit_and, &M::And, &M::And},
      {Op::bit_or, &M::Orr, &M::Orr},
      {Op::bit_xor, &M::Eor, &M::Eor},
      {Op::equal, &M::Fcmeq, &M::Cmeq},
      {Op::not_equal, &M::Fcmeq, &M::Cmeq, false, true},
      {Op::less, &M::Fcmgt, &M::Cmgt, true},
      {Op::less_equal, &M::Fcmge, &M::Cmge, true},
  };
  const Instruction& instruction = spec_.code[value];
  const Lane lane = spec_.code[instruction.operands[0]].lane;
  const auto found = std::ranges::find(table, instruction.op, &Row::op);
  const ThreeVectors encode = found == std::end(table) ? nullptr : is_float(lane) ? found->floats : found->integers;
  if (encode == nullptr) throw std::logic_error("jit: an operation has no instruction");
  const int a = in_register(operand(value, 0)), b = in_register(operand(value, 1)), d = result_register(value);
  const bool bitwise = found->floats == found->integers;
  if (instruction.op == Op::multiply && lane == Lane::i64) {
    emit_wide_product(d, a, b);
  } else if (bitwise) {
    (this->*encode)(bits(d), bits(a), bits(b));
  } else {
    (this->*encode)(vector(d, lane), vector(found->swapped ? b : a, lane), vector(found->swapped ? a : b, lane));
  }
  if (found->inverted) Mvn(bits(d), bits(d));
  settle(value, d);
}

void AArch64Function::emit_wide_product(int d, int a, int b) {
  for (int lane = 0; lane < 2; ++lane) {
    Umov(x9, as(a, kFormat2D), lane);
    Umov(x10, as(b, kFormat2D), lane);
    Mul(x9, x9, x10);
    Ins(as(d, kFormat2D), lane, x9);
  }
}

// Extremes of the processor know NaN and the sign of zero, and there are none of 64-bit integers.
void AArch64Function::emit_extreme(Value value) {
  const Instruction& instruction = spec_.code[value];
  const int a = in_register(operand(value, 0)), b = in_register(operand(value, 1)), d = result_register(value, true);
  const bool largest = instruction.op == Op::maximum;
  const VRegister x = vector_of(value, largest ? a : b), y = vector_of(value, largest ? b : a);
  is_float(instruction.lane) ? Fcmgt(vector_of(value, d), x, y) : Cmgt(vector_of(value, d), x, y);
  Bsl(bits(d), bits(a), bits(b));
  settle(value, d);
}

// The processor shifts by the lowest byte of a lane, to the right where that is negative.
void AArch64Function::emit_shift_by(Value value) {
  const Instruction& instruction = spec_.code[value];
  const bool left = instruction.op == Op::shift_left_by, wide = is_wide(instruction.lane);
  const int a = in_register(operand(value, 0)), b = in_register(operand(value, 1));
  const int count = take_vector(), most = take_vector(), d = result_register(value);
  // Counts of 64 bits go through 32, the largest of which is as good as any larger one.
  if (wide) Uqxtn(as(count, kFormat2S), as(b, kFormat2D));
  const VRegister bounded = as(count, wide ? kFormat2S : kFormat4S);
  const int width = wide ? 64 : 32;
  Movi(as(most, wide ? kFormat2S : kFormat4S), static_cast<std::uint64_t>(left ? width : width - 1));
  Umin(bounded, wide ? bounded : as(b, kFormat4S), as(most, wide ? kFormat2S : kFormat4S));
  if (wide) Uxtl(as(count, kFormat2D), bounded);
  const VRegister by = vector_of(value, count);
  if (!left) Neg(by, by);
  left ? Ushl(vector_of(value, d), vector_of(value, a), by) : Sshl(vector_of(value, d), vector_of(value, a), by);
  settle(value, d);
}

/// Written over the operand that is read no more, if there is one.
void AArch64Function::emit_select(Value value) {
  const Value operands[] = {operand(value, 0), operand(value, 1), operand(value, 2)};
  const int mask = in_register(operands[0]), yes = in_register(operands[1]), no = in_register(operands[2]);
  const auto may_overwrite = [&](std::size_t k) {
    const bool once = std::ranges::count(operands, operands[k]) == 1;
    return once && pinned_at(value) < 0 && dies(operands[k]);
  };
  if (may_overwrite(2)) {
    Bit(bits(no), bits(yes), bits(mask));
    return settle(value, no);
  }
  if (may_overwrite(1)) {
    Bif(bits(yes), bits(no), bits(mask));
    return settle(value, yes);
  }
  const int d = may_overwrite(0) ? mask : result_register(value, true);
  move(d, mask);
  Bsl(bits(d), bits(yes), bits(no));
  settle(value, d);
}

void AArch64Function::emit_multiply_add(Value value) {
  const Op op = spec_.code[value].op;
  const Value third = operand(value, 2);
  const int a = in_register(operand(value, 0)), b = in_register(operand(value, 1)), c = in_register(third);
  const bool over = pinned_at(value) < 0 && c != a && c != b && dies(third);
  const int d = over ? c : result_register(value, true);
  const VRegister to = vector_of(value, d), x = vector_of(value, a), y = vector_of(value, b);
  if (op == Op::multiply_subtract) Fneg(to, vector_of(value, c));
  else move(d, c);
  op == Op::multiply_add_negated ? Fmls(to, x, y) : Fmla(to, x, y);
  settle(value, d);
}

void AArch64Function::emit_convert(Value value) {
  const Lane to = lane_of_value(value), from = spec_.code[spec_.code[value].operands[0]].lane;
  const int a = in_register(operand(value, 0)), d = result_register(value);
  const VRegister wide = as(d, kFormat2D), narrow = as(d, kFormat2S);
  const VRegister wide_from = as(a, kFormat2D), narrow_from = as(a, kFormat2S);
  const auto is = [&](Lane x, Lane y) { return from == x && to == y; };
  if (is(Lane::f32, Lane::f64)) {
    Fcvtl(wide, narrow_from);
  } else if (is(Lane::f64, Lane::f32)) {
    Fcvtn(narrow, wide_from);
  } else if (is(Lane::i32, Lane::f32)) {
    Scvtf(as(d, kFormat4S), as(a, kFormat4S));
  } else if (is(Lane::f32, Lane::i32)) {
    Fcvtzs(as(d, kFormat4S), as(a, kFormat4S));
  } else if (is(Lane::i32, Lane::f64)) {
    Sxtl(wide, narrow_from);
    Scvtf(wide, wide);
  } else if (is(Lane::f64, Lane::i32)) {
    Fcvtzs(wide, wide_from);
    Xtn(narrow, wide);
  } else if (!is_float(from) && !is_float(to) && is_wide(from) != is_wide(to)) {
    is_wide(to) ? Sxtl(wide, narrow_from) : Xtn(narrow, wide_from);
  } else {
    throw std::logic_error("jit: a conversion has no instruction");
  }
  settle(value, d);
}

void AArch64Function::emit_round_half(Value value) {
  const int a = in_register(operand(value, 0)), d = result_register(value);
  Fcvtn(as(d, kFormat4H), as(a, kFormat4S));
  Fcvtl(as(d, kFormat4S), as(d, kFormat4H));
  settle(value, d);
}

}  // namespace tyto::cpu::jit

#endif
