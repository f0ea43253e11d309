// SPDX-License-Identifier: MIT
// Emits the loops over rows and along a row.
#if defined(TYTO_HAVE_VIXL)

#include "devices/cpu/loop/jit/aarch64_function.hpp"

#include <cstring>

#include "devices/cpu/reduce/fold_order.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu::jit {

using namespace vixl::aarch64;

namespace {

/// Registers of cursors; those that calls keep are the last.
constexpr int cursor_registers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 24, 25, 26, 27, 28};

}  // namespace

AArch64Function::AArch64Function(const KernelSpec& spec) : FunctionEmitter(spec, {registers, 0, lanes_of(spec)}) {
  if (spec.variant == Variant::non_temporal) throw NotEmitted();
  GetScratchVRegisterList()->SetList(0);
  place_accumulators();
  choose_pins();
  assign_cursors();
  if (single_) emit_single();
  else emit_function();
  FinalizeCode();
}

std::vector<std::byte> AArch64Function::code() {
  std::vector<std::byte> made(GetSizeOfCodeGenerated());
  std::memcpy(made.data(), GetBuffer()->GetStartAddress<const std::byte*>(), made.size());
  return made;
}

MemOperand AArch64Function::in_frame(std::size_t member) const {
  return MemOperand(x19, static_cast<std::int64_t>(member));
}

void AArch64Function::assign_cursors() {
  cursors_.assign(static_cast<std::size_t>(operand_count()), -1);
  std::size_t next = 0;
  for (int each = 0; each < operand_count() && next < std::size(cursor_registers); ++each) {
    if (is_streamed(each)) cursors_[static_cast<std::size_t>(each)] = cursor_registers[next++];
  }
}

Register AArch64Function::cursor(int operand) {
  if (has_register(operand)) return Register(cursors_[static_cast<std::size_t>(operand)], kXRegSize);
  Ldr(x10, kept_at(operand));
  return x10;
}

void AArch64Function::advance(int operand, const Operand& by) {
  const Register at = cursor(operand);
  Add(at, at, by);
  if (!has_register(operand)) Str(at, kept_at(operand));
}

void AArch64Function::emit_entry() {
  Stp(x29, x30, MemOperand(sp, -160, PreIndex));
  Stp(x19, x20, MemOperand(sp, 16));
  Stp(x21, x22, MemOperand(sp, 32));
  Stp(x23, x24, MemOperand(sp, 48));
  Stp(x25, x26, MemOperand(sp, 64));
  Stp(x27, x28, MemOperand(sp, 80));
  Stp(d8, d9, MemOperand(sp, 96));
  Stp(d10, d11, MemOperand(sp, 112));
  Stp(d12, d13, MemOperand(sp, 128));
  Stp(d14, d15, MemOperand(sp, 144));
  Mov(x29, sp);
  Mov(x19, x0);
  {
    const vixl::ExactAssemblyScope one(this, kInstructionSize);
    frame_size_at_ = GetCursorOffset();
    movz(x9, 0);
  }
  Sub(sp, sp, x9);
  for (const auto& [value, which] : pins_) {
    if (body_.is_constant(value)) load_constant(value, which);
  }
}

void AArch64Function::emit_exit() {
  Mov(sp, x29);
  Ldp(x19, x20, MemOperand(sp, 16));
  Ldp(x21, x22, MemOperand(sp, 32));
  Ldp(x23, x24, MemOperand(sp, 48));
  Ldp(x25, x26, MemOperand(sp, 64));
  Ldp(x27, x28, MemOperand(sp, 80));
  Ldp(d8, d9, MemOperand(sp, 96));
  Ldp(d10, d11, MemOperand(sp, 112));
  Ldp(d12, d13, MemOperand(sp, 128));
  Ldp(d14, d15, MemOperand(sp, 144));
  Ldp(x29, x30, MemOperand(sp, 160, PostIndex));
  Ret();
}

/// Emits the code behind the function, and patches the size of its stack frame.
void AArch64Function::emit_rest() {
  for (Stub& stub : stubs_) {
    Bind(&stub.entry);
    emit_call_sequence(spec_.code.calls[spec_.code[stub.value].immediate], stub.operands, stub.result, stub.saved);
    B(&stub.back);
  }
  const int bytes = slot_area() + most_slots_ * vector_bytes;
  if (bytes >= 1 << 16) throw NotEmitted();
  auto* const instruction = GetBuffer()->GetOffsetAddress<std::uint32_t*>(frame_size_at_);
  *instruction |= static_cast<std::uint32_t>(bytes) << ImmMoveWide_offset;
}

void AArch64Function::load_cursors() {
  for (int each = 0; each < operand_count(); ++each) {
    if (!is_streamed(each)) continue;
    if (has_register(each)) {
      Ldr(cursor(each), start_of(each));
    } else if (!single_) {
      Ldr(x9, start_of(each));
      Str(x9, kept_at(each));
    }
  }
}

void AArch64Function::emit_function() {
  emit_entry();
  Label row, end;
  Bind(&row);
  load_cursors();
  emit_row_values();
  Ldr(x20, in_frame(offsetof(Frame, columns)));
  if (accumulators_.empty()) {
    emit_columns();
  } else {
    Label block;
    start_totals();
    Mov(x22, x20);
    Bind(&block);
    Mov(x9, fold_block);
    Cmp(x22, x9);
    Csel(x20, x22, x9, lt);
    Sub(x22, x22, x20);
    start_accumulators();
    emit_columns();
    fold_accumulators();
    Cbnz(x22, &block);
    store_totals();
  }
  Ldr(x9, in_frame(offsetof(Frame, rows)));
  Subs(x9, x9, 1);
  Str(x9, in_frame(offsetof(Frame, rows)));
  B(&end, eq);
  for (int each = 0; each < operand_count(); ++each) {
    Ldr(x9, row_of(each));
    Ldr(x10, start_of(each));
    Add(x10, x10, x9);
    Str(x10, start_of(each));
  }
  B(&row);
  Bind(&end);
  emit_exit();
  emit_rest();
}

/// The body without a loop along the row, which would take longer than it.
void AArch64Function::emit_single() {
  emit_entry();
  Label row, end;
  load_cursors();
  Bind(&row);
  emit_row_values();
  emit_body(false);
  Ldr(x9, in_frame(offsetof(Frame, rows)));
  Subs(x9, x9, 1);
  Str(x9, in_frame(offsetof(Frame, rows)));
  B(&end, eq);
  Ldr(x9, in_frame(offsetof(Frame, goes_on)));
  Ldrb(w9, MemOperand(x9));
  Cbz(w9, &end);
  for (int each = 0; each < operand_count(); ++each) {
    Ldr(x9, row_of(each));
    advance(each, x9);
  }
  B(&row);
  Bind(&end);
  emit_exit();
  emit_rest();
}

void AArch64Function::emit_columns() {
  const int unrolled = unroll();
  Label end;
  emit_vectors(unrolled);
  // Accumulators turn from here on: vectors that are unrolled have one each.
  if (!accumulators_.empty()) Mov(x23, 0);
  if (unrolled > 1) emit_vectors(1);
  Cbz(x20, &end);
  Mov(x21, x20);
  emit_body(true);
  Bind(&end);
}

void AArch64Function::emit_vectors(int unrolled) {
  Label end, next;
  Subs(x20, x20, lanes() * unrolled);
  B(&end, lt);
  Bind(&next);
  for (step_ = 0; step_ < unrolled; ++step_) emit_body(false);
  step_ = 0;
  if (unrolled == 1 && !accumulators_.empty()) {
    turn_accumulators();
    Add(x23, x23, 1);
  }
  for (int each = 0; each < operand_count(); ++each) {
    if (is_contiguous(each)) advance(each, unrolled * lanes() * width_of(each));
  }
  Subs(x20, x20, lanes() * unrolled);
  B(&next, ge);
  Bind(&end);
  Add(x20, x20, lanes() * unrolled);
}

void AArch64Function::emit_body(bool partial) {
  begin_body(partial);
  for (int each = 0; each < inputs() && !partial; ++each) {
    const int at = step_ * lanes() * width_of(each);
    if (!spec_of(each).prefetched || !is_contiguous(each) || at % machine::cache_line != 0) continue;
    Prfm(PLDL2KEEP, MemOperand(cursor(each), at + machine::prefetch_distance));
  }
  emit_values();
  for (const Code::Store& store : spec_.code.stores) {
    unlock_all();
    emit_store(root(store.value), inputs() + store.operand);
    free_register(root(store.value));
    ++position_;
  }
  end_body();
}

}  // namespace tyto::cpu::jit

#endif
