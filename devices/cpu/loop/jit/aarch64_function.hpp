// SPDX-License-Identifier: MIT
// One function for AArch64: rows, along a row vectors of 16 bytes, and what is left of a row with the same body and
// loads and stores of single elements.
//
//   x19 the frame, x20 the elements left of the row or block, x21 the tail's count, x22 the elements behind the block,
//   x23 vectors since the last unrolled turn, x29 the caller's stack; x9 to x11 are free, x16 and x17 the assembler's;
//   the other general registers hold where the current vectors of operands start.
#pragma once

#include <array>
#include <deque>
#include <vector>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#endif
#include <aarch64/macro-assembler-aarch64.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include "devices/cpu/loop/jit/function_emitter.hpp"

namespace tyto::cpu::jit {

class AArch64Function : private vixl::aarch64::MacroAssembler, private FunctionEmitter {
 public:
  explicit AArch64Function(const KernelSpec& spec);
  std::vector<std::byte> code();

 private:
  using Label = vixl::aarch64::Label;
  using MemOperand = vixl::aarch64::MemOperand;
  using Register = vixl::aarch64::Register;
  using VRegister = vixl::aarch64::VRegister;
  using ThreeVectors = void (MacroAssembler::*)(const VRegister&, const VRegister&, const VRegister&);
  using TwoVectors = void (MacroAssembler::*)(const VRegister&, const VRegister&);

  static constexpr int vector_bytes = 16, registers = 32;
  static int lanes_of(const KernelSpec& spec) { return spec.code.wide ? 2 : 4; }
  int lanes() const { return shape_.lanes; }

  // The frame on the stack: what calls are given, registers saved around them, totals of reductions, then values that
  // found no register.

  static constexpr int result_area = 3 * vector_bytes;
  static constexpr int save_area = result_area + vector_bytes;
  static constexpr int cursor_area = save_area + registers * vector_bytes;
  static constexpr int totals_area = cursor_area + 16 * vector_bytes;
  int slot_area() const { return totals_area + vector_bytes * static_cast<int>(accumulators_.size()); }
  MemOperand on_stack(int bytes) const { return MemOperand(vixl::aarch64::sp, bytes); }

  // Registers.

  /// A whole vector register by its lanes; of 32-bit values in a body of 64-bit ones only the first half is used.
  static VRegister vector(int which, Lane lane);
  static VRegister bits(int which) { return VRegister(which, vixl::aarch64::kFormat16B); }
  static VRegister as(int which, vixl::aarch64::VectorFormat format) { return VRegister(which, format); }
  /// The first bytes of a vector, a power of two.
  static VRegister scalar(int which, int bytes) { return VRegister(which, 8 * bytes); }
  VRegister vector_of(Value value, int which) const { return vector(which, lane_of_value(value)); }
  void move(int to, int from) override {
    if (to != from) Mov(bits(to), bits(from));
  }
  void repeat(std::uint64_t number, Lane lane, int which) override;

  void load_constant(Value value, int which) override;
  void load_slot(Value value, int which) override;
  void store_slot(Value value, int which) override;

  // Operands.

  MemOperand in_frame(std::size_t member) const;
  MemOperand start_of(int operand) const { return in_place(operand, offsetof(OperandPointers, start)); }
  MemOperand row_of(int operand) const { return in_place(operand, offsetof(OperandPointers, row)); }
  MemOperand column_of(int operand) const { return in_place(operand, offsetof(OperandPointers, column)); }
  MemOperand in_place(int operand, std::size_t member) const {
    return in_frame(static_cast<std::size_t>(member_of(operand, member)));
  }
  bool is_streamed(int operand) const {
    return spec_of(operand).access == Access::contiguous || spec_of(operand).access == Access::strided;
  }
  bool is_contiguous(int operand) const { return spec_of(operand).access == Access::contiguous; }
  /// The stack slot of the address of an operand without a register.
  MemOperand kept_at(int operand) const {
    return single_ ? start_of(operand) : in_place(operand, offsetof(OperandPointers, cursor));
  }
  void assign_cursors();
  bool has_register(int operand) const { return cursors_[static_cast<std::size_t>(operand)] >= 0; }
  /// A register with the place of the current vector; x10 where no other was left for it.
  Register cursor(int operand);
  /// Moves on by a register, or by bytes.
  void advance(int operand, const vixl::aarch64::Operand& by);

  // The function.

  void emit_function();
  void emit_single();
  /// The prologue of both kinds of functions.
  void emit_entry();
  void emit_exit();
  void emit_rest();
  void load_cursors();
  void emit_columns();
  void emit_vectors(int unrolled);
  void emit_body(bool partial);

  // Values.

  void emit(Value value) override;
  void emit_unary(Value value);
  void emit_binary(Value value);
  void emit_wide_product(int d, int a, int b);
  void emit_extreme(Value value);
  void emit_shift_by(Value value);
  void emit_select(Value value);
  void emit_multiply_add(Value value);
  void emit_convert(Value value);
  void emit_round_half(Value value);

  // Memory.

  /// Widens elements as stored, side by side in the register, to lanes; pack() narrows lanes to such, in `t`.
  void unpack(DType stored, int which);
  void pack(DType stored, int t, int from);
  static bool is_packed(DType stored) { return size_of(stored) < 4; }
  void emit_broadcast(Value value);
  void emit_load(Value value);
  void emit_store(Value value, int to);
  /// Calls each(lane, place of the element) for the elements of an operand that are there; moves on past them unless
  /// they are the last ones.
  template <class Each>
  void each_element(int operand, const Each& each);

  // Reductions.

  MemOperand total(std::size_t i) const { return on_stack(totals_area + static_cast<int>(i) * vector_bytes); }
  void accumulate(std::size_t i) override;
  void start_totals();
  void store_totals();
  void move_half(Lane lane, int lanes, int to, int from) override;
  void fold(std::size_t i, int lanes, int to, int from) override;
  void turn_back(std::size_t i) override;
  void add_to_total(std::size_t i, int first, int t) override;
  /// A mask of the tail's lanes.
  void tail_mask(Lane lane, int which);

  // Calls.

  /// An out-of-line call, where some lane lies outside the range of the recorded code.
  struct Stub {
    Label entry, back;
    Value value = no_value;
    int result = 0;
    std::uint32_t saved = 0;
    std::array<int, 3> operands{};
  };
  void emit_call(Value value);
  void emit_call_sequence(const Call& call, const std::array<int, 3>& operands, int d, std::uint32_t saved);

  std::vector<int> cursors_;  // by operand: the number of its register, or -1
  std::deque<Stub> stubs_;
  std::ptrdiff_t frame_size_at_ = 0;
};

}  // namespace tyto::cpu::jit
