// SPDX-License-Identifier: MIT
// JIT code before register allocation: the instructions on one vector of elements in order, each value assigned once.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/operator.hpp"
#include "tyto/dtype.hpp"

namespace tyto::cpu::jit {

/// The contents of a lane of a vector. A mask has all bits of its lanes set or none, and lanes as wide as those of the
/// values that it was made of.
enum class Lane : std::uint8_t { f32, f64, i32, i64, mask32, mask64 };

constexpr bool is_wide(Lane lane) { return lane == Lane::f64 || lane == Lane::i64 || lane == Lane::mask64; }
constexpr bool is_mask(Lane lane) { return lane == Lane::mask32 || lane == Lane::mask64; }
constexpr bool is_float(Lane lane) { return lane == Lane::f32 || lane == Lane::f64; }

/// The bits of a lane.
constexpr std::uint64_t all_of(Lane lane) { return is_wide(lane) ? ~std::uint64_t{0} : 0xffffffffu; }

/// The lane that values of an element type are computed in; the narrow types are widened.
constexpr Lane lane_of(DType type) {
  switch (type) {
    case DType::boolean: return Lane::mask32;
    case DType::i64: return Lane::i64;
    case DType::f16:
    case DType::bf16:
    case DType::f32: return Lane::f32;
    case DType::f64: return Lane::f64;
    default: return Lane::i32;
  }
}

enum class Op : std::uint8_t {
  // Leaves: a constant's bits; an element of an operand for each lane; one element of it for all lanes.
  constant,
  load,
  broadcast,
  // Arithmetic. The extremes give their second operand where the two are equal or either is NaN.
  add,
  subtract,
  multiply,
  divide,
  square_root,
  absolute,              // of i32
  multiply_add,          //  a b + c, rounded once
  multiply_subtract,     //  a b - c
  multiply_add_negated,  // -a b + c
  scale,                 // a 2^b for an integral b, rounded once
  minimum,
  maximum,
  round,
  floor,
  ceil,
  trunc,
  // Bits; shifts by a constant (in `immediate`) and by lanes (counts of at least the width give 0, or the sign).
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  shift_right_signed,
  shift_left_by,
  shift_right_signed_by,
  // Comparisons give masks. Of NaN all but not_equal are false.
  equal,
  not_equal,
  less,
  less_equal,
  // a ? b : c
  select,
  // Between lanes.
  convert,  // between numbers of the lanes: exact, rounded to nearest, or truncated towards zero
  resize,   // a mask of the other width
  reinterpret,
  round_half,  // an f32 rounded to f16
  // A compiled loop called for one vector: the results of an operator or a conversion. With a mask as last operand
  // only where it is not set in all lanes; else the value before it.
  call,
  call_unless,
};

struct Instruction {
  Op op = Op::constant;
  Lane lane = Lane::f32;
  std::array<std::int16_t, 3> operands{-1, -1, -1};
  std::uint64_t immediate = 0;  // a constant's bits, a shift's count, the number of an operand or of a call
};

/// A compiled loop: `out`, up to three operands of these types, and how many elements.
struct Call {
  void (*loop)(void* out, const void* a, const void* b, const void* c, std::size_t n) = nullptr;
  DType result = DType::f32;
  int count = 0;
  std::array<DType, 3> types{};
  std::array<std::int16_t, 3> operands{-1, -1, -1};
  friend bool operator==(const Call&, const Call&) = default;
};

using Value = std::int16_t;
inline constexpr Value no_value = -1;

/// A reduction of a row's elements.
enum class Fold : std::uint8_t { sum, product, minimum, maximum };

/// A body: values in the order in which they are computed, and what is stored at the end.
struct Code {
  struct Store {
    Value value;
    int operand;  // which output
  };

  std::vector<Instruction> instructions;
  std::vector<Call> calls;
  std::vector<Store> stores;
  /// One number a row: sums of f32 as f64, what else as its lane.
  struct Reduction {
    Fold fold;
    Value value;
    int operand;  // which output
  };
  std::vector<Reduction> reductions;
  bool wide = false;     // some lanes have 64 bits
  bool complete = true;  // false where there would be too many values

  /// Liveness by value: whether a stored or reduced value depends on it. Rules leave dead values behind.
  std::vector<bool> wanted() const;

  const Instruction& operator[](Value value) const { return instructions[static_cast<std::size_t>(value)]; }
};

/// Builds code: equal values are made once, and constants are folded.
class CodeBuilder {
 public:
  /// `scales`: the processor has an instruction for Op::scale; elsewhere it is made of others.
  explicit CodeBuilder(bool scales) : scales_(scales) {}

  Value constant(Lane lane, std::uint64_t bits);
  Value load(int operand, Lane lane, bool broadcast);
  Value apply(Op op, Lane lane, Value a, Value b = no_value, Value c = no_value, std::uint64_t immediate = 0);
  Value call(const Call& call, Lane lane, Value unless = no_value, Value value = no_value);
  void store(Value value, int output) { code_.stores.push_back({value, output}); }
  void reduce(Fold fold, Value value, int output) { code_.reductions.push_back({fold, value, output}); }

  /// `value` as a mask for lanes of 64 bits, or of 32.
  Value mask(Value value, bool wide);

  bool is_constant(Value value) const { return code_[value].op == Op::constant; }
  std::uint64_t bits(Value value) const { return code_[value].immediate; }
  const Code& code() const { return code_; }
  Code take() { return std::move(code_); }

 private:
  Value add(const Instruction& instruction);
  Value folded(const Instruction& instruction);
  Value quotient_by_number(Value quotient);
  Value scaled_in_two(Lane lane, Value x, Value exponent);

  Code code_;
  bool scales_;
  std::vector<Value> table_;  // of hashes
};

}  // namespace tyto::cpu::jit
