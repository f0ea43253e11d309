// SPDX-License-Identifier: MIT
// Emits moves of values between registers and memory.
#if defined(TYTO_HAVE_XBYAK)

#include "devices/cpu/loop/jit/x86_function.hpp"

namespace tyto::cpu::jit {

X86Encoder::Address X86Function::constant_at(Value value) {
  std::unique_ptr<Label>& label = constants_[static_cast<std::size_t>(value)];
  if (label == nullptr) label = std::make_unique<Label>();
  return has_masks ? ptr_b[rip + *label] : ptr[rip + *label];
}

void X86Function::load_constant(Value value, int which) {
  const Instruction& instruction = spec_.code[value];
  if (is_in_mask(value)) {
    const Opmask mask(which);
    instruction.immediate != 0 ? kxnorw(mask, mask, mask) : kxorw(mask, mask, mask);
    return;
  }
  if (instruction.immediate == 0) return zero(which);
  constant_at(value);
  const Label& label = *constants_[static_cast<std::size_t>(value)];
  if (!has_masks) vmovups(vector_of(value, which), ptr[rip + label]);
  else if (is_wide(instruction.lane)) vbroadcastsd(Xbyak::Zmm(which), ptr[rip + label]);
  else vbroadcastss(vector_of(value, which), ptr[rip + label]);
}

void X86Function::load_slot(Value value, int which) {
  if (is_in_mask(value)) kmovw(Opmask(which), slot(slot_of(value)));
  else vmovups(vector_of(value, which), slot(slot_of(value)));
}

void X86Function::store_slot(Value value, int which) {
  if (is_in_mask(value)) kmovw(slot(slot_of(value)), Opmask(which));
  else vmovups(slot(slot_of(value)), vector_of(value, which));
}

void X86Function::load_late(Value value, int which) {
  if (!folded_[static_cast<std::size_t>(value)]) return FunctionEmitter::load_late(value, which);
  unpack(spec_of(operand_of(value)).stored, vector_of(value, which), place_of(value));
}

}  // namespace tyto::cpu::jit

#endif
