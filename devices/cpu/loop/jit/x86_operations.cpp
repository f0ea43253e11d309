// SPDX-License-Identifier: MIT
// Selects x86 instructions for each operation of a body.
#if defined(TYTO_HAVE_XBYAK)

#include "devices/cpu/loop/jit/x86_function.hpp"

namespace tyto::cpu::jit {

void X86Function::emit(Value value) {
  switch (spec_.code[value].op) {
    case Op::load: emit_load(value); break;
    case Op::broadcast: emit_broadcast(value); break;
    case Op::call:
    case Op::call_unless: emit_call(value); break;
    case Op::multiply_add:
    case Op::multiply_subtract:
    case Op::multiply_add_negated: emit_multiply_add(value); break;
    case Op::select: emit_select(value); break;
    case Op::convert:
    case Op::resize: emit_convert(value); break;
    case Op::round_half: emit_round_half(value); break;
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal: emit_comparison(value); break;
    case Op::square_root:
    case Op::absolute:
    case Op::round:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::shift_left:
    case Op::shift_right:
    case Op::shift_right_signed: emit_unary(value); break;
    default: emit_binary(value); break;
  }
}

void X86Function::emit_unary(Value value) {
  const Instruction& instruction = spec_.code[value];
  const int a = in_register(operand(value, 0));
  const int d = result_register(value);
  if (instruction.op == Op::shift_left || instruction.op == Op::shift_right ||
      instruction.op == Op::shift_right_signed) {
    shift(instruction.op, instruction.lane, vector_of(value, d), vector_of(value, a),
          static_cast<std::uint8_t>(instruction.immediate));
  } else {
    unary(instruction.op, instruction.lane, vector_of(value, d), vector_of(value, a));
  }
  settle(value, d);
}

void X86Function::emit_binary(Value value) {
  const Instruction& instruction = spec_.code[value];
  Value left = operand(value, 0), right = operand(value, 1);
  const bool commutes = instruction.op == Op::add || instruction.op == Op::multiply || instruction.op == Op::bit_and ||
                        instruction.op == Op::bit_or || instruction.op == Op::bit_xor;
  if (commutes && !is_in_register(left) && is_in_register(right)) std::swap(left, right);
  const int a = in_register(left);
  if (is_in_mask(value)) {
    const int b = in_register(right), d = result_register(value);
    mask_binary(instruction.op, Opmask(d), Opmask(a), Opmask(b));
    return settle(value, d);
  }
  if (instruction.op == Op::multiply && instruction.lane == Lane::i64 && !has_masks) {
    return emit_wide_product(value, a, in_register(right));
  }
  if (instruction.op == Op::shift_right_signed_by && instruction.lane == Lane::i64 && !has_masks) {
    return emit_wide_signed_shift(value, a, in_register(right));
  }
  with(right, [&](const Operand& b) {
    const int d = result_register(value);
    binary(instruction.op, instruction.lane, vector_of(value, d), vector_of(value, a), b);
    settle(value, d);
  });
}

void X86Function::emit_wide_product(Value value, int a, int b) {
  const Ymm x(a), y(b), p(take_vector()), q(take_vector());
  vpsrlq(p, x, 32);
  vpmuludq(p, p, y);
  vpsrlq(q, y, 32);
  vpmuludq(q, q, x);
  vpaddq(p, p, q);
  vpsllq(p, p, 32);
  vpmuludq(q, x, y);
  const int d = result_register(value);
  vpaddq(Ymm(d), p, q);
  settle(value, d);
}

// AVX2 fills in zeros alone: of negative numbers the inverted bits are shifted.
void X86Function::emit_wide_signed_shift(Value value, int a, int count) {
  const Ymm sign(take_vector()), bits(take_vector());
  vpxor(sign, sign, sign);
  vpcmpgtq(sign, sign, Ymm(a));
  vpxor(bits, sign, Ymm(a));
  vpsrlvq(bits, bits, Ymm(count));
  const int d = result_register(value);
  vpxor(Ymm(d), bits, sign);
  settle(value, d);
}

void X86Function::emit_comparison(Value value) {
  const Instruction& instruction = spec_.code[value];
  Value left = operand(value, 0), right = operand(value, 1);
  const Lane lane = spec_.code[instruction.operands[0]].lane;
  // AVX2 compares integers for equal and greater only.
  if (!has_masks && !is_float(lane) && instruction.op == Op::less) std::swap(left, right);
  const int a = in_register(left);
  with(right, [&](const Operand& b) {
    if (has_masks) {
      const int d = result_register(value);
      compare_masked(instruction.op, lane, Opmask(d), vector(a, lane), b);
      return settle(value, d);
    }
    const bool inverted = !is_float(lane) && (instruction.op == Op::not_equal || instruction.op == Op::less_equal);
    const int d = result_register(value, inverted), spare = inverted ? take_vector() : -1;
    compare(instruction.op, lane, vector(d, lane), vector(a, lane), b, spare);
    settle(value, d);
  });
}

void X86Function::emit_select(Value value) {
  const Instruction& instruction = spec_.code[value];
  const int mask = in_register(operand(value, 0)), no = in_register(operand(value, 2));
  const bool wide = is_wide(instruction.lane);
  with(operand(value, 1), [&](const Operand& yes) {
    const int d = result_register(value);
    const Xmm to = vector_of(value, d), otherwise = vector_of(value, no);
    if (has_masks && is_float(instruction.lane)) {
      const Xmm some = to | Opmask(mask);
      wide ? vblendmpd(some, otherwise, yes) : vblendmps(some, otherwise, yes);
    } else if (has_masks) {
      const Xmm some = to | Opmask(mask);
      wide ? vpblendmq(some, otherwise, yes) : vpblendmd(some, otherwise, yes);
    } else {
      wide ? vblendvpd(to, otherwise, yes, vector_of(value, mask))
           : vblendvps(to, otherwise, yes, vector_of(value, mask));
    }
    settle(value, d);
  });
}

void X86Function::emit_multiply_add(Value value) {
  const Instruction& instruction = spec_.code[value];
  Value a = operand(value, 0), b = operand(value, 1);
  const Value c = operand(value, 2);
  const auto encode = [&](int spec, int d, int x, const Operand& y) {
    fused(instruction.op, instruction.lane, spec, vector_of(value, d), vector_of(value, x), y);
  };
  const auto free = [&](Value x) { return pinned_at(value) < 0 && dies(x); };
  if (free(c) && a != c && b != c) {  // c = a b + c
    if (!is_in_register(a) && is_in_register(b)) std::swap(a, b);
    const int d = in_register(c), x = in_register(a);
    with(b, [&](const Operand& y) { encode(231, d, x, y); });
    return settle(value, d);
  }
  if (!free(a) && free(b)) std::swap(a, b);
  if (free(a) && a != b && a != c) {
    const int d = in_register(a);
    if (is_in_register(b) || !is_in_register(c)) {  // a = b a + c
      const int x = in_register(b);
      with(c, [&](const Operand& z) { encode(213, d, x, z); });
    } else {  // a = a b + c
      const int z = in_register(c);
      with(b, [&](const Operand& y) { encode(132, d, z, y); });
    }
    return settle(value, d);
  }
  // A copy of one operand, preferably of one that lies in memory.
  const auto copied = [&](Value x) {
    const int pinned = pinned_at(value), d = pinned >= 0 ? pinned : take_vector();
    const int there = vectors_.find(x);
    if (there >= 0) move(vector_of(value, d), vector_of(value, there));
    else if (body_.is_constant(x)) load_constant(x, d);
    else with(x, [&](const Operand& from) { vmovups(vector_of(value, d), static_cast<const Address&>(from)); });
    return d;
  };
  if (!is_in_register(c) || is_in_register(a)) {
    if (!is_in_register(a) && is_in_register(b)) std::swap(a, b);
    const int x = in_register(a), d = copied(c);
    with(b, [&](const Operand& y) { encode(231, d, x, y); });
    return settle(value, d);
  }
  const int z = in_register(c), d = copied(a);
  with(b, [&](const Operand& y) { encode(132, d, z, y); });
  settle(value, d);
}

void X86Function::emit_convert(Value value) {
  const Instruction& instruction = spec_.code[value];
  const Lane from = spec_.code[instruction.operands[0]].lane;
  const int a = in_register(operand(value, 0));
  const bool halves = !has_masks && is_wide(from) && !is_wide(instruction.lane) && !is_float(from);
  const int spare = halves ? take_vector() : -1;
  const int d = result_register(value, halves);
  convert(from, instruction.lane, d, a, spare);
  settle(value, d);
}

void X86Function::emit_round_half(Value value) {
  const int a = in_register(operand(value, 0));
  const int t = take_vector();
  pack(DType::f16, t, a, -1);
  const int d = result_register(value);
  unpack(DType::f16, vector_of(value, d), whole(t));
  settle(value, d);
}

}  // namespace tyto::cpu::jit

#endif
