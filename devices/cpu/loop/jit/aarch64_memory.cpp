// SPDX-License-Identifier: MIT
// Emits constants, and loads and stores: whole vectors, strided elements, and those at the end of a row.
#if defined(TYTO_HAVE_VIXL)

#include "devices/cpu/loop/jit/aarch64_function.hpp"

namespace tyto::cpu::jit {

using namespace vixl::aarch64;

VRegister AArch64Function::vector(int which, Lane lane) {
  return VRegister(which, is_wide(lane) ? kFormat2D : kFormat4S);
}

void AArch64Function::repeat(std::uint64_t number, Lane lane, int which) { Movi(vector(which, lane), number); }

void AArch64Function::load_constant(Value value, int which) {
  repeat(spec_.code[value].immediate, lane_of_value(value), which);
}

void AArch64Function::load_slot(Value value, int which) {
  Ldr(scalar(which, vector_bytes), on_stack(slot_area() + slot_of(value) * vector_bytes));
}

void AArch64Function::store_slot(Value value, int which) {
  Str(scalar(which, vector_bytes), on_stack(slot_area() + slot_of(value) * vector_bytes));
}

void AArch64Function::unpack(DType stored, int d) {
  const VRegister words = as(d, kFormat4S), halves = as(d, kFormat4H);
  switch (stored) {
    case DType::f16: Fcvtl(words, halves); return;
    case DType::bf16: Shll(words, halves, 16); return;
    case DType::u16: Uxtl(words, halves); return;
    case DType::i16: Sxtl(words, halves); return;
    case DType::i8:
      Sxtl(as(d, kFormat8H), as(d, kFormat8B));
      Sxtl(words, halves);
      return;
    case DType::u8:
    case DType::boolean:
      Uxtl(as(d, kFormat8H), as(d, kFormat8B));
      Uxtl(words, halves);
      if (stored == DType::boolean) Cmtst(words, words, words);
      return;
    default: return;
  }
}

void AArch64Function::pack(DType stored, int t, int from) {
  const VRegister words = as(from, kFormat4S), halves = as(t, kFormat4H);
  switch (stored) {
    case DType::f16: Fcvtn(halves, words); return;
    case DType::bf16: Shrn(halves, words, 16); return;
    case DType::u16:
    case DType::i16: Xtn(halves, words); return;
    case DType::boolean: Ushr(as(t, kFormat4S), words, 31); [[fallthrough]];
    default:
      Xtn(halves, stored == DType::boolean ? as(t, kFormat4S) : words);
      Xtn(as(t, kFormat8B), as(t, kFormat8H));
      return;
  }
}

void AArch64Function::emit_broadcast(Value value) {
  const int from = operand_of(value), width = width_of(from);
  const int d = result_register(value);
  Ldr(x9, start_of(from));
  Ld1r(as(d, width == 1 ? kFormat8B : width == 2 ? kFormat4H : width == 4 ? kFormat4S : kFormat2D), MemOperand(x9));
  unpack(spec_of(from).stored, d);
  settle(value, d);
}

template <class Each>
void AArch64Function::each_element(int operand, const Each& each) {
  const bool strided = !is_contiguous(operand);
  if (strided) Ldr(x9, column_of(operand));
  // Only whole vectors are followed by others.
  Register at = cursor(operand);
  if (partial_ && has_register(operand)) Mov(x10, at), at = x10;
  Label done;
  for (int lane = 0; lane < lanes(); ++lane) {
    if (lane > 0 && partial_) {
      Cmp(x21, lane);
      B(&done, le);
    }
    each(lane, strided ? MemOperand(at, x9, PostIndex) : MemOperand(at, width_of(operand), PostIndex));
  }
  Bind(&done);
  if (!partial_ && !has_register(operand)) Str(at, kept_at(operand));
}

namespace {

VectorFormat lane_format(int width) {
  return width == 1 ? kFormat16B : width == 2 ? kFormat8H : width == 4 ? kFormat4S : kFormat2D;
}

}  // namespace

void AArch64Function::emit_load(Value value) {
  const int from = operand_of(value), width = width_of(from), d = take_vector();
  if (single_) {
    Ldr(scalar(d, width), MemOperand(cursor(from)));
  } else if (is_contiguous(from) && !partial_) {
    const int bytes = lanes() * width;
    Ldr(scalar(d, bytes), MemOperand(cursor(from), step_ * bytes));
  } else {
    Movi(as(d, kFormat2D), 0);
    each_element(from, [&](int lane, const MemOperand& at) { Ld1(as(d, lane_format(width)), lane, at); });
  }
  unpack(spec_of(from).stored, d);
  settle(value, d);
}

void AArch64Function::emit_store(Value value, int to) {
  const int width = width_of(to), from = in_register(value);
  const DType stored = spec_of(to).stored;
  int source = from;
  if (is_packed(stored)) pack(stored, source = take_vector(), from);
  if (single_) {
    Str(scalar(source, width), MemOperand(cursor(to)));
  } else if (is_contiguous(to) && !partial_) {
    const int bytes = lanes() * width;
    Str(scalar(source, bytes), MemOperand(cursor(to), step_ * bytes));
  } else {
    each_element(to, [&](int lane, const MemOperand& at) { St1(as(source, lane_format(width)), lane, at); });
  }
}

}  // namespace tyto::cpu::jit

#endif
