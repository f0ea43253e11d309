// SPDX-License-Identifier: MIT
// Values come into registers, and leave them for the stack.
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

int X86Function::take(RegisterFile& bank) {
  int which = bank.find_free();
  if (which < 0) {
    which = bank.farthest(position_);
    if (which < 0) throw NotEmitted();
    const Value value = bank.owner(which);
    if (slot_of(value) < 0 && !body_.is_constant(value)) {
      slot_of(value) = new_slot();
      store_slot(value, which);
    }
    bank.release(which);
  }
  bank.lock(which);
  return which;
}

int X86Function::in_register(Value value) {
  RegisterFile& bank = file(value);
  const int there = bank.find(value);
  if (there >= 0) {
    bank.lock(there);
    return there;
  }
  const int which = take(bank);
  if (body_.is_constant(value)) load_constant(value, which);
  else if (slot_of(value) >= 0) load_slot(value, which);
  else if (folded_[static_cast<std::size_t>(value)])
    unpack(spec_of(operand_of(value)).stored, vector_of(value, which), place_of(value));
  else throw std::logic_error("jit: a value is read before it is made");
  bank.assign(value, which);
  return which;
}

bool X86Function::dies(Value value) {
  RegisterFile& bank = file(value);
  const int which = bank.find(value);
  return which >= 0 && !bank.is_pinned(which) && !body_.same_in_row[static_cast<std::size_t>(value)] &&
         bank.next_use(value, position_ + 1) == RegisterFile::never;
}

void X86Function::free_register(Value value) {
  RegisterFile& bank = file(value);
  const int which = bank.find(value);
  if (which < 0 || bank.is_pinned(which) || !in_element_) return;
  bank.pass(value, position_ + 1);
  if (bank.next_use(value, position_ + 1) == RegisterFile::never) bank.release(which);
}

int X86Function::result_register(Value value, bool apart) {
  if (const int pinned = pinned_at(value); pinned >= 0) return pinned;
  RegisterFile& bank = file(value);
  int found = -1;
  if (!apart) {
    body_.operands(value, [&](Value read) {
      if (&file(read) == &bank && dies(read)) found = bank.find(read);
    });
  }
  return found >= 0 ? found : take(bank);
}

void X86Function::settle(Value value, int which) {
  if (pinned_at(value) >= 0) return;
  RegisterFile& bank = file(value);
  if (bank.owner(which) == value) return;
  bank.release(which);
  bank.assign(value, which);
}

}  // namespace tyto::cpu::jit

#endif
