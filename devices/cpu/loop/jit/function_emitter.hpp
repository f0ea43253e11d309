// SPDX-License-Identifier: MIT
// Code generation that all architectures share: register allocation, the order in which a body's values are computed,
// accumulators of reductions. Each architecture emits its own instructions.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "devices/cpu/loop/jit/body.hpp"
#include "devices/cpu/loop/jit/registers.hpp"

namespace tyto::cpu::jit {

/// The set has not registers enough, or not the instructions: the loop is interpreted.
struct NotEmitted {};

/// The vectors of an architecture as one function uses them.
struct VectorShape {
  int registers;
  int mask_registers;  // from the register 1 on; 0 where masks are vectors
  int lanes;           // of a vector
};

class FunctionEmitter {
 protected:
  FunctionEmitter(const KernelSpec& spec, const VectorShape& shape);
  FunctionEmitter(const FunctionEmitter&) = delete;
  FunctionEmitter& operator=(const FunctionEmitter&) = delete;
  virtual ~FunctionEmitter() = default;

  // Implemented by each architecture.

  virtual void emit(Value value) = 0;
  virtual void accumulate(std::size_t reduction) = 0;
  virtual void load_constant(Value value, int which) = 0;
  virtual void load_slot(Value value, int which) = 0;
  virtual void store_slot(Value value, int which) = 0;
  /// Emits a load that emit() deferred to its readers.
  virtual void load_late(Value value, int which);
  /// A number in all lanes of a vector.
  virtual void repeat(std::uint64_t number, Lane lane, int which) = 0;
  virtual void move(int to, int from) = 0;
  /// The second half of so many lanes of a vector, in the first lanes of another.
  virtual void move_half(Lane lane, int lanes, int to, int from) = 0;
  /// Folds `from` into `to`, of which so many lanes count.
  virtual void fold(std::size_t reduction, int lanes, int to, int from) = 0;
  /// Turns accumulators until each has its place again: where of equals the first is taken, places matter.
  virtual void turn_back(std::size_t reduction) = 0;
  /// Folds the first lane of a vector into what earlier blocks made, by way of another vector.
  virtual void add_to_total(std::size_t reduction, int first, int t) = 0;

  // Operands.

  int inputs() const { return static_cast<int>(spec_.inputs.size()); }
  int operand_count() const { return inputs() + static_cast<int>(spec_.outputs.size()); }
  const OperandSpec& spec_of(int operand) const {
    return operand < inputs() ? spec_.inputs[static_cast<std::size_t>(operand)]
                              : spec_.outputs[static_cast<std::size_t>(operand - inputs())];
  }
  int width_of(int operand) const { return static_cast<int>(size_of(spec_of(operand).stored)); }
  static constexpr int member_of(int operand, std::size_t member) {
    return static_cast<int>(offsetof(Frame, pointers) + static_cast<std::size_t>(operand) * sizeof(OperandPointers) +
                            member);
  }

  // Values in registers.

  Lane lane_of_value(Value value) const { return spec_.code[value].lane; }
  bool is_in_mask(Value value) const { return shape_.mask_registers != 0 && is_mask(lane_of_value(value)); }
  RegisterFile& file(Value value) { return is_in_mask(value) ? masks_ : vectors_; }
  int operand_of(Value value) const { return static_cast<int>(spec_.code[value].immediate & 0xffffffffu); }
  Value root(Value value) const { return body_.root[static_cast<std::size_t>(value)]; }
  Value operand(Value value, std::size_t k) const { return root(spec_.code[value].operands[k]); }

  int new_slot() {
    most_slots_ = std::max(most_slots_, next_slot_ + 1);
    return next_slot_++;
  }
  int& slot_of(Value value) { return slots_of_[static_cast<std::size_t>(value)]; }

  /// Empties a register of a file.
  int take(RegisterFile& bank);
  int take_vector() { return take(vectors_); }
  int in_register(Value value);
  bool is_in_register(Value value) { return file(value).find(value) >= 0; }
  /// Whether the register that holds the value may be overwritten by the instruction that reads it now.
  bool dies(Value value);
  void free_register(Value value);
  int pinned_at(Value value) const {
    const auto found = pins_.find(value);
    return found == pins_.end() ? -1 : found->second;
  }
  /// A register for the result of the current value: its own, one of its operands' that is read no more, or another.
  int result_register(Value value, bool apart = false);
  /// The result is in the register.
  void settle(Value value, int which);
  void unlock_all() {
    vectors_.unlock_all();
    masks_.unlock_all();
  }
  void forget_all() {
    vectors_.release_all();
    masks_.release_all();
  }

  // The body.

  /// Registers that the values of a body leave over hold what every vector needs.
  void choose_pins();
  /// How many vectors go through the body in one turn of the loop: short bodies would wait for the loop.
  int unroll() const;
  /// Emits the values that are computed once a row.
  void emit_row_values();
  /// Emits the values that are computed for each vector, and folds them into reductions; begin_body() before,
  /// end_body() after.
  void emit_values();
  void begin_body(bool partial);
  void end_body();

  // Reductions.
  //
  // Whatever the vectors' length, element i of a row goes to accumulator i modulo fold_lanes() (a fixed number of them
  // stands side by side in registers), the accumulators of a block are added in pairs, each with the one half of them
  // all further on, and the blocks one after the other. Vectors of the rest of a block take turns: instead of the
  // accumulators' numbers, the accumulators themselves are turned.

  struct Accumulator {
    std::vector<int> vectors;
    int unordered = -1;  // of extremes: a mask of lanes that have met a NaN
  };
  const Code::Reduction& reduction(std::size_t i) const { return spec_.code.reductions[i]; }
  Lane lane_of_reduction(std::size_t i) const { return spec_.code[reduction(i).value].lane; }
  bool is_extreme(std::size_t i) const {
    return reduction(i).fold == Fold::minimum || reduction(i).fold == Fold::maximum;
  }
  static bool adds_wider(Fold fold, Lane lane) { return fold == Fold::sum && lane == Lane::f32; }
  std::uint64_t identity(std::size_t i) const;
  void place_accumulators();
  void start_accumulators();
  /// The first accumulator of each reduction becomes the last.
  void turn_accumulators();
  void turn(std::size_t i);
  /// The accumulators of a block become one number each, which is added to the total.
  void fold_accumulators();

  const KernelSpec& spec_;
  const VectorShape shape_;
  const bool single_;
  const Body body_;
  RegisterFile vectors_, masks_;
  std::vector<int> slots_of_;
  int next_slot_ = 0, most_slots_ = 0;
  std::vector<bool> folded_;  // loads that are done by what reads them
  std::vector<Accumulator> accumulators_;
  int accumulator_count_ = 0, mask_count_ = 0, copies_ = 1;
  std::map<Value, int> pins_;
  int position_ = 0, step_ = 0;
  bool in_element_ = false, partial_ = false;

 private:
  int row_slots_ = 0;
};

}  // namespace tyto::cpu::jit
