// SPDX-License-Identifier: MIT
// Emits the loops over rows and along a row.
#if defined(TYTO_HAVE_XBYAK)

#include "devices/cpu/loop/jit/x86_function.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu::jit {

void X86Function::assign_pointers() {
  pointers_.assign(static_cast<std::size_t>(operand_count()), -1);
  int next = 0;
  for (int each = 0; each < operand_count(); ++each) {
    const bool follows = spec_of(each).access == Access::strided && !has_cursor(each);
    if ((spec_of(each).access == Access::contiguous || follows) &&
        next < (single_ ? most_pointers - 1 : most_pointers)) {
      pointers_[static_cast<std::size_t>(each)] = next++;
    }
  }
}

std::size_t X86Function::emit_entry() {
  mov(rbp, rsp);
  mov(rbx, rdi);
  sub(rsp, 0x7fffffff);
  const std::size_t frame_size_at = getSize() - 4;
  and_(rsp, -64);
#if defined(_WIN32)
  // The system extends the stack by the page that follows the last one in use, and by no other.
  Label page;
  mov(rax, rbp);
  L(page);
  sub(rax, 4096);
  cmp(rax, rsp);
  cmovb(rax, rsp);
  mov(ecx, dword[rax]);
  ja(page);
#endif
  for (const auto& [value, which] : pins_) {
    if (body_.is_constant(value)) load_constant(value, which);
  }
  return frame_size_at;
}

void X86Function::emit_function() {
  assign_pointers();
  for (const Reg64& each : {rbx, rbp, r12, r13, r14, r15}) push(each);
  const std::size_t frame_size_at = emit_entry();
  const Address columns = qword[rbx + static_cast<int>(offsetof(Frame, columns))];
  mov(r13, columns);
  Label row;
  L(row);
  load_pointers();
  emit_row_start();
  if (accumulators_.empty()) {
    emit_columns();
  } else {
    Label block;
    start_totals();
    L(block);
    lea(r13, ptr[r12 + fold_block]);
    cmp(r13, columns);
    cmovg(r13, columns);
    start_accumulators();
    emit_columns();
    fold_accumulators();
    // The rest of the tail's vector belongs to no block.
    mov(r12, r13);
    cmp(r12, columns);
    jl(block, T_NEAR);
    store_totals();
  }
  for (int each = 0; each < operand_count(); ++each) {
    mov(rax, row_of(each));
    add(start_of(each), rax);
  }
  dec(qword[rbx + static_cast<int>(offsetof(Frame, rows))]);
  jnz(row, T_NEAR);
  vzeroupper();
  mov(rsp, rbp);
  for (const Reg64& each : {r15, r14, r13, r12, rbp, rbx}) pop(each);
  ret();
  emit_rest(frame_size_at);
}

/// Emits the code behind the function, and patches the size of its stack frame.
void X86Function::emit_rest(std::size_t size_at) {
  for (Stub& stub : stubs_) emit_stub(stub);
  emit_constants();
  rewrite(size_at, static_cast<std::uint64_t>(slot_area() + (most_slots_ + 2) * vector_bytes), 4);
}

/// The body without a loop along the row, which would take longer than it. Where there are more rows, the code that
/// moves on to the next one is behind the function.
void X86Function::emit_single() {
  assign_pointers();
  push(rbx);
  push(rbp);
  const std::size_t frame_size_at = emit_entry();
  Label row, next, end;
  load_pointers();
  L(row);
  emit_row_start();
  emit_body(false);
  dec(qword[rbx + static_cast<int>(offsetof(Frame, rows))]);
  jnz(next, T_NEAR);
  L(end);
  vzeroupper();
  mov(rsp, rbp);
  pop(rbp);
  pop(rbx);
  ret();
  L(next);
  mov(rax, qword[rbx + static_cast<int>(offsetof(Frame, goes_on))]);
  cmp(byte[rax], 0);
  je(end, T_NEAR);
  for (int each = 0; each < operand_count(); ++each) {
    const int which = pointers_[static_cast<std::size_t>(each)];
    mov(rax, row_of(each));
    which >= 0 ? add(pointer_register(which), rax) : add(start_of(each), rax);
  }
  jmp(row, T_NEAR);
  emit_rest(frame_size_at);
}

void X86Function::load_pointers() {
  for (int each = 0; each < operand_count(); ++each) {
    const int which = pointers_[static_cast<std::size_t>(each)];
    if (which >= 0) mov(pointer_register(which), start_of(each));
  }
}

void X86Function::emit_row_start() {
  for (int each = 0; each < operand_count(); ++each) {
    if (!has_cursor(each)) continue;
    mov(rax, start_of(each));
    mov(cursor_of(each), rax);
  }
  if (!single_) xor_(r12, r12);
  emit_row_values();
}

void X86Function::emit_columns() {
  const int unrolled = unroll();
  Label end;
  if (spec_.variant == Variant::non_temporal) emit_head();
  emit_vectors(unrolled);
  // Accumulators turn from here on: vectors that are unrolled have one each.
  if (!accumulators_.empty()) mov(qword[rsp + rest_from()], r12);
  if (unrolled > 1) emit_vectors(1);
  mov(rax, r13);
  sub(rax, r12);
  jle(end, T_NEAR);
  emit_tail();
  L(end);
}

void X86Function::emit_head() {
  Label aligned;
  const int width = width_of(inputs());
  mov(rax, start_of(inputs()));
  neg(rax);
  and_(rax, lanes * width - 1);
  jz(aligned, T_NEAR);
  shr(rax, std::countr_zero(static_cast<unsigned>(width)));
  cmp(rax, r13);
  cmovg(rax, r13);
  emit_tail();
  for (int each = 0; each < operand_count(); ++each) {
    if (!has_cursor(each)) continue;
    movsxd(rax, dword[rsp + tail_count()]);
    imul(rax, column_of(each));
    add(cursor_of(each), rax);
  }
  mov(eax, dword[rsp + tail_count()]);
  add(r12, rax);
  L(aligned);
}

void X86Function::emit_vectors(int unrolled) {
  Label end, next;
  mov(r14, r13);
  sub(r14, lanes * unrolled);
  cmp(r12, r14);
  jg(end, T_NEAR);
  align(16);
  L(next);
  for (step_ = 0; step_ < unrolled; ++step_) emit_body(false);
  step_ = 0;
  if (unrolled == 1) turn_accumulators();
  add(r12, lanes * unrolled);
  cmp(r12, r14);
  jle(next, T_NEAR);
  L(end);
}

void X86Function::emit_tail() {
  mov(dword[rsp + tail_count()], eax);
  if (has_masks) {
    mov(ecx, -1);
    bzhi(ecx, ecx, eax);
    kmovd(Opmask(tail_mask), ecx);
  } else {
    lea(rcx, ptr[rip + tail_masks_]);
    neg(rax);
    // Register 0 is never pinned: pins are taken from the other end and leave some over.
    vmovups(ymm0, ptr[rcx + rax * 4 + 64]);
    vmovups(ptr[rsp + tail_mask_32()], ymm0);
    vmovups(ymm0, ptr[rcx + rax * 8 + 64]);
    vmovups(ptr[rsp + tail_mask_64()], ymm0);
  }
  emit_body(true);
}

void X86Function::emit_body(bool partial) {
  begin_body(partial);
  for (int each = 0; each < inputs() && !partial; ++each) {
    const OperandSpec& spec = spec_of(each);
    if (!spec.prefetched || (spec.access != Access::contiguous && !spec.every_second)) continue;
    const int width = width_of(each), bytes = lanes * width * (spec.every_second ? 2 : 1);
    const Xbyak::RegExp start =
        spec.every_second ? strided_at(each) : pointer(each) + r12 * width + step_ * lanes * width;
    for (int line = 0; line < bytes; line += 64) {
      if (bytes < 64 && (step_ * bytes) % 64 != 0) continue;
      prefetcht1(ptr[start + line + static_cast<int>(machine::prefetch_distance)]);
    }
  }
  emit_values();
  for (const Code::Store& store : spec_.code.stores) {
    unlock_all();
    const Value value = body_.root[static_cast<std::size_t>(store.value)];
    const int to = inputs() + store.operand, beside = imaginary_of(to);
    if (beside >= 0) {
      const auto other = std::ranges::find_if(
          spec_.code.stores, [&](const Code::Store& each) { return inputs() + each.operand == beside; });
      const int real = in_register(value);
      store_parts(to, real, in_register(body_.root[static_cast<std::size_t>(other->value)]));
    } else if (!is_stored_with_real(to)) {
      emit_store(value, to);
    }
    free_register(value);
    ++position_;
  }
  end_body();
  for (int each = 0; each < operand_count() && !partial; ++each) {
    if (!has_cursor(each)) continue;
    mov(rax, column_of(each));
    shl(rax, std::countr_zero(static_cast<unsigned>(lanes)));
    add(cursor_of(each), rax);
  }
}

}  // namespace tyto::cpu::jit

#endif
