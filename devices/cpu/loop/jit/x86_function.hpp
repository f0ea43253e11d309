// SPDX-License-Identifier: MIT
// One function: rows, along a row vectors of elements, and what is left of a row with the same body and partial loads
// and stores.
//
//   rbx the frame, r12 the element reached, r13 the columns, r14 the last element at which a vector may begin, rbp the
//   caller's stack; rax and rcx are free; the other general registers hold where operands start.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "devices/cpu/loop/jit/function_emitter.hpp"
#include "devices/cpu/loop/jit/x86_encoder.hpp"
#include "devices/cpu/reduce/fold_order.hpp"

namespace tyto::cpu::jit {

/// Emits the function as it is made.
class X86Function : public X86Encoder, private FunctionEmitter {
 public:
  X86Function(const KernelSpec& spec, VectorSet set, std::span<std::byte> buffer)
      : X86Encoder(buffer, set, spec.code, spec.variant == Variant::single),
        FunctionEmitter(spec, {registers, has_masks ? tail_mask - 1 : 0, lanes}),
        constants_(spec.code.instructions.size()) {
    parts_stay_apart_ = takes_parts_alone();
    require_folds();
    place_accumulators();
    choose_pins();
    if (single_) emit_single();
    else emit_function();
  }

 private:
  using Label = Xbyak::Label;

  static constexpr int most_pointers = 8;

  // The frame on the stack: what calls are given, registers saved around them, the tail's count and masks, then
  // values that found no register.

  int save_area() const { return 4 * vector_bytes; }
  int mask_area() const { return save_area() + registers * vector_bytes; }
  int pointer_area() const { return mask_area() + 64; }
  int tail_count() const { return pointer_area() + 64; }
  int tail_mask_32() const { return tail_count() + 64; }
  int tail_mask_64() const { return tail_mask_32() + 64; }
  int totals_area() const { return tail_mask_64() + 64; }
  int slot_area() const { return totals_area() + 64 * (1 + static_cast<int>(accumulators_.size()) / 4); }
  Address slot(int which) { return ptr[rsp + slot_area() + which * vector_bytes]; }

  // Operands.

  Address in_place(int operand, std::size_t member) { return qword[rbx + member_of(operand, member)]; }
  Address start_of(int operand) { return in_place(operand, offsetof(OperandPointers, start)); }
  Address row_of(int operand) { return in_place(operand, offsetof(OperandPointers, row)); }
  Address column_of(int operand) { return in_place(operand, offsetof(OperandPointers, column)); }
  Address cursor_of(int operand) { return in_place(operand, offsetof(OperandPointers, cursor)); }
  Reg64 pointer_register(int which) {
    const Reg64 list[most_pointers] = {rdx, rsi, rdi, r8, r9, r10, r11, r15};
    return list[which];
  }
  /// A register that holds where a contiguous operand's row starts; rax where no other was left for it.
  Reg64 pointer(int operand) {
    const int which = pointers_[static_cast<std::size_t>(operand)];
    if (which >= 0) return pointer_register(which);
    mov(rax, start_of(operand));
    return rax;
  }
  /// The address of the current vector of a contiguous operand.
  Address at(int operand) {
    const int width = width_of(operand);
    if (single_) return ptr[pointer(operand)];
    return ptr[pointer(operand) + r12 * width + step_ * lanes * width];
  }

  // Values in registers.

  Xmm vector_of(Value value, int which) const { return vector(which, lane_of_value(value)); }
  Address place_of(Value load) { return at(operand_of(load)); }

  /// Where a constant lies, as an operand: broadcast as it is read where the set can do that.
  Address constant_at(Value value);
  void load_constant(Value value, int which) override;
  void load_slot(Value value, int which) override;
  void store_slot(Value value, int which) override;
  void load_late(Value value, int which) override;

  /// Calls use(operand) with a vector's value in a register, or where it lies in memory.
  template <class Use>
  void with(Value value, const Use& use) {
    const int there = vectors_.find(value);
    if (there >= 0) {
      vectors_.lock(there);
      use(vector_of(value, there));
    } else if (body_.is_constant(value)) {
      use(constant_at(value));
    } else if (slot_of(value) >= 0) {
      use(slot(slot_of(value)));
    } else if (folded_[static_cast<std::size_t>(value)]) {
      use(place_of(value));
    } else {
      throw std::logic_error("jit: a value is read before it is made");
    }
  }

  // The function.

  void assign_pointers();

  void emit_function();
  void emit_single();
  /// The prologue of both kinds of functions; returns where the size of the stack frame is to be written.
  std::size_t emit_entry();
  void emit_rest(std::size_t size_at);

  void load_pointers();
  void emit_row_start();

  /// The elements from r12 to r13.
  void emit_columns();

  /// The elements before the first output's next multiple of a vector.
  void emit_head();

  void emit_vectors(int unrolled);

  /// rax holds how many elements are left.
  void emit_tail();

  void emit_body(bool partial);

  // Reductions.

  /// Throws where the set has no instruction for one.
  void require_folds() const;
  Address total(std::size_t i) { return ptr[rsp + totals_area() + static_cast<int>(i) * 16]; }
  int rest_from() const { return tail_count() + 16; }

  void start_totals();
  void repeat(std::uint64_t bits, Lane lane, int which) override;
  using X86Encoder::move;
  void move(int to, int from) override;
  void move_half(Lane lane, int count, int to, int from) override;
  void fold(std::size_t i, int count, int to, int from) override;

  void fold_into(std::size_t i, const Xmm& to, const Xmm& a, const Operand& b);
  void extreme(Lane lane, bool largest, const Xmm& to, const Xmm& a, const Xmm& b);

  void accumulate(std::size_t i) override;

  void turn_back(std::size_t i) override;
  void add_to_total(std::size_t i, int first, int t) override;
  void store_totals();

  void emit_constants();

  // Values.

  void emit(Value value) override;

  void emit_unary(Value value);

  void emit_binary(Value value);

  /// The lower halves of 64-bit products, where there is an instruction for products of 32 bits only.
  void emit_wide_product(Value value, int a, int b);
  void emit_wide_signed_shift(Value value, int a, int count);

  void emit_comparison(Value value);

  void emit_select(Value value);

  /// The result is written over one of the operands: over one that is read no more, if there is one.
  void emit_multiply_add(Value value);

  void emit_convert(Value value);

  void emit_round_half(Value value);

  // Memory.

  /// Makes a mask of booleans that were unpacked into a vector.
  void settle_unpacked(Value value, DType stored, int which);
  /// Bytes that were widened, as a mask: in a mask register, or over themselves.
  void to_mask(const Xmm& x, int d) {
    if (has_masks) return vptestmd(Opmask(d), x, x);
    const Xmm nothing = sized(spare_ >= 0 ? spare_ : take_vector(), static_cast<int>(x.getBit()) / 8);
    vpxor(nothing, nothing, nothing);
    vpcmpgtd(x, x, nothing);
  }

  void emit_broadcast(Value value);

  void emit_load(Value value);

  /// rcx = the address of what is left of the row.
  void address_of_rest(int operand) { lea(rcx, ptr[pointer(operand) + r12 * width_of(operand)]); }

  /// The bytes of what is left of a row, from the smallest power of two that their number is made of to the largest:
  /// each comes before those that are there already.
  void load_part(int from, int d);
  void load_masked(int from, Xmm to);
  /// The first bytes of a register, which is emptied on the way.
  void store_part(int to, int source);

  /// Whether a strided operand's place is kept in memory. That of every second number follows from the element reached.
  bool has_cursor(int operand) const {
    const OperandSpec& spec = spec_of(operand);
    return spec.access == Access::strided && (single_ || !spec.every_second);
  }
  /// Where the current vector of a strided operand starts; takes rax where no address of registers says it.
  Xbyak::RegExp strided_at(int operand) {
    if (has_cursor(operand)) {
      mov(rax, cursor_of(operand));
      return Xbyak::RegExp(rax);
    }
    const Xbyak::RegExp once = pointer(operand) + r12 * 8;
    if (width_of(operand) == 4) return once + step_ * lanes * 8;
    lea(rax, ptr[once]);
    return rax + r12 * 8 + step_ * lanes * 16;
  }

  /// Calls each(16 bytes' number, lane in them) for the elements of a strided operand, rax at each.
  template <class Each>
  void each_strided(int operand, const Each& each) {
    const int in_quarter = std::min(lanes, 16 / width_of(operand));
    Label done;
    mov(rcx, column_of(operand));
    lea(rax, ptr[strided_at(operand)]);
    for (int lane = 0; lane < lanes; ++lane) {
      if (lane > 0 && partial_) {
        cmp(dword[rsp + tail_count()], lane);
        jle(done, T_NEAR);
      }
      if (lane > 0) add(rax, rcx);
      each(lane / in_quarter, lane % in_quarter);
    }
    L(done);
  }
  int quarters(int operand) const { return std::max(1, lanes * width_of(operand) / 16); }
  void gather(int from, int d);
  void scatter(int to, int source);
  /// The same for whole vectors of elements of which every second one lies here: one part of complex numbers, mostly.
  bool is_every_second(int operand) const { return spec_of(operand).every_second && !partial_; }
  void load_every_second(int from, int d);
  /// Whether all that vectors of elements are read from and written to is parts of complex numbers of one width. Then
  /// elements may lie in a vector in another order than in memory, as long as it is the same order everywhere.
  bool takes_parts_alone() const;
  /// Both parts of complex numbers, which lie side by side from the real one's place on.
  void store_parts(int to, int real, int imaginary);
  /// The operand of whole vectors' imaginary parts, where these real ones lie before them; else none.
  int imaginary_of(int to) const {
    const bool pairs = spec_of(to).part == Part::real && is_every_second(to);
    return pairs && to + 1 < operand_count() && is_every_second(to + 1) ? to + 1 : -1;
  }
  bool is_stored_with_real(int to) const { return to > inputs() && imaginary_of(to - 1) == to; }

  /// Elements as stored, of a value: its own register, or another one.
  int packed_of(DType stored, int from);

  void emit_store(Value value, int to);

  // Calls.

  struct Saved {
    std::uint32_t vectors = 0, masks = 0;
  };
  /// An out-of-line call, where some lane lies outside the range of the recorded code.
  struct Stub {
    Label entry, back;
    Value value = no_value;
    int result = 0;
    Saved saved;
    std::array<int, 3> operands{};
  };

  void emit_call(Value value);
  Saved saved_but(Value value, int which) {
    Saved saved{vectors_.used(), has_masks ? masks_.used() | 1u << tail_mask : 0};
    (is_in_mask(value) ? saved.masks : saved.vectors) &= ~(1u << which);
    return saved;
  }

  void emit_stub(Stub& stub) {
    L(stub.entry);
    emit_call_sequence(spec_.code.calls[spec_.code[stub.value].immediate], stub.operands, stub.result, stub.saved);
    jmp(stub.back, T_NEAR);
  }

  void emit_call_sequence(const Call& call, const std::array<int, 3>& operands, int d, Saved saved);

  bool parts_stay_apart_ = false;
  std::vector<int> pointers_;
  std::vector<std::unique_ptr<Label>> constants_;
  Label tail_masks_;
  std::deque<Stub> stubs_;
  int spare_ = -1;  // a register that may be used where none can be taken
};

}  // namespace tyto::cpu::jit
