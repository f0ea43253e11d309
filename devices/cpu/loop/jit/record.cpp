// SPDX-License-Identifier: MIT
// Translates a loop program: operands are loaded at their first use, conversions and operators become code.
#include "devices/cpu/loop/jit/record.hpp"

#include <algorithm>
#include <bit>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_rows.hpp"
#include "core/value/stored_scalar.hpp"
#include "devices/cpu/arithmetic/tile_loops/find_loop.hpp"
#include "devices/cpu/loop/jit/record_operators.hpp"
#include "devices/cpu/loop/loop_types.hpp"

namespace tyto::cpu::jit {

namespace {

using core::OpId;

/// u32 is half as wide in memory as the i64 that it is computed in, and lanes of 64 bits have a sign.
constexpr bool has_no_lane(DType type) { return type == DType::u32 || type == DType::u64; }

constexpr bool is_narrow(DType type) { return is_integer(type) && size_of(type) < 4; }

class ProgramRecorder {
 public:
  ProgramRecorder(const core::LoopProgram& program, std::span<const InputSpec> inputs, std::span<const DType> outputs,
                  const TileLoops& loops, bool scales)
      : inputs_(inputs), loops_(loops), code_(scales) {
    for (const InputSpec& input : inputs) types_.push_back(input.stored);
    program_ = with_explicit_casts(program, types_);
    types_ = core::value_types(program_, types_);
    values_.assign(program_.values(), no_value);
    has_lanes_ = std::ranges::none_of(types_, has_no_lane) && std::ranges::none_of(outputs, has_no_lane);
    if (!has_lanes_) return;
    for (std::size_t v = program_.inputs; v < program_.first_instruction(); ++v) {
      values_[v] = number(types_[v], core::as_stored(program_.constants[v - program_.inputs].value, types_[v]));
    }
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
      if (!core::is_reduction(program_, v)) values_[v] = follow(v);
    }
    for (const bool reductions : {false, true}) {
      for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
        const LoopValue output = program_.outputs[i];
        if (core::is_reduction(program_, output) != reductions) continue;
        if (reductions) reduce(output, static_cast<int>(i));
        else store(output, outputs[i], static_cast<int>(i));
      }
    }
  }

  /// A call for one vector takes about as long as sixteen of the interpreter's instructions, whose loops see a tile at
  /// a time: programs of few other instructions are left to it, and those of types without a lane.
  Code take() {
    Code code = code_.take();
    const auto calls = std::ranges::count(code.instructions, Op::call, &Instruction::op);
    std::ptrdiff_t steps = 0;
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) steps += !is_cast_input(program_, v);
    if (!has_lanes_) code.complete = false;
    if (calls != 0 && steps <= 16 * calls && !core::has_reductions(program_)) code.complete = false;
    return code;
  }

 private:
  using LoopValue = core::LoopValue;

  Value constant(Lane lane, double value) {
    if (lane == Lane::f32) return code_.constant(lane, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    if (lane == Lane::f64) return code_.constant(lane, std::bit_cast<std::uint64_t>(value));
    return code_.constant(lane, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  }
  Value number(DType type, const Scalar& value) {
    const Lane lane = lane_of(type);
    if (is_mask(lane)) return code_.constant(lane, value.as_double() != 0 ? ~std::uint64_t{0} : 0);
    if (is_float(lane)) return constant(lane, value.as_double());
    return code_.constant(lane, value.as_unsigned());
  }

  /// A value of the program; an input is loaded when it is first read.
  Value read(LoopValue which) {
    if (values_[which] == no_value) {
      const auto [stored, same_along_row] = inputs_[which];
      values_[which] = code_.load(which, lane_of(stored), same_along_row);
    }
    return values_[which];
  }

  Value follow(std::size_t which) {
    const OpId op = program_.instruction_of(which).op;
    const std::span<const LoopValue> from = program_.operands_of(which);
    if (op == OpId::cast) return convert(read(from[0]), types_[from[0]], types_[which]);
    std::array<Value, 3> operands{no_value, no_value, no_value};
    std::ranges::transform(from, operands.begin(), [&](LoopValue operand) { return read(operand); });
    const DType type = types_[from.back()];
    const RecordedOperator made = record_operator(code_, op, type, operands);
    if (made.value != no_value && made.in_range == no_value) return made.value;
    Call call{find_loop(loops_, op, type), types_[which], static_cast<int>(from.size()), {}, operands};
    std::ranges::transform(from, call.types.begin(), [&](LoopValue operand) { return types_[operand]; });
    return code_.call(call, lane_of(call.result), made.in_range, made.value);
  }

  void store(LoopValue which, DType stored, int operand) {
    const Value value = convert(read(which), types_[which], stored);
    code_.store(stored == DType::bf16 ? before_clearing(value) : value, operand);
  }

  void reduce(LoopValue which, int operand) {
    const LoopValue from = program_.operands_of(which)[0];
    const Value value = read(from);
    const DType type = types_[from];
    const auto exact_type = [&](DType floating) { return is_floating(type) ? floating : DType::i64; };
    switch (program_.instruction_of(which).op) {
      case OpId::min: return code_.reduce(Fold::minimum, value, operand);
      case OpId::max: return code_.reduce(Fold::maximum, value, operand);
      case OpId::prod: return code_.reduce(Fold::product, convert(value, type, exact_type(DType::f64)), operand);
      default: return code_.reduce(Fold::sum, convert(value, type, exact_type(type)), operand);
    }
  }

  Value convert(Value value, DType from, DType to) {
    if (from == to) return value;
    const Lane lane = lane_of(to), source = lane_of(from);
    if (to == DType::boolean) {
      const Lane mask = is_wide(source) ? Lane::mask64 : Lane::mask32;
      return code_.mask(code_.apply(Op::not_equal, mask, value, constant(source, 0)), false);
    }
    if (from == DType::boolean) {
      return code_.apply(Op::select, lane, code_.mask(value, is_wide(lane)), constant(lane, 1), constant(lane, 0));
    }
    if (to == DType::f16 || to == DType::bf16) {
      if (source == Lane::f32) return rounded(value, to);
      const bool exact = is_narrow(from) || (from == DType::i32 && to == DType::f16);
      return exact ? rounded(code_.apply(Op::convert, lane, value), to) : called(value, from, to);
    }
    if (source == lane && is_float(lane)) return value;
    if (is_floating(from) && is_floating(to)) return code_.apply(Op::convert, lane, value);
    if (is_floating(from)) return to == DType::i64 ? called(value, from, to) : saturated(value, source, to);
    if (is_floating(to)) return source == Lane::i64 ? called(value, from, to) : code_.apply(Op::convert, lane, value);
    const Value whole = code_.apply(Op::convert, lane, value);
    return is_narrow(to) ? wrapped(whole, to) : whole;
  }

  Value wrapped(Value value, DType to) {
    if (is_unsigned(to)) {
      return code_.apply(Op::bit_and, Lane::i32, value, constant(Lane::i32, to == DType::u8 ? 255 : 65535));
    }
    const std::uint64_t above = 32 - 8 * size_of(to);
    const Value high = code_.apply(Op::shift_left, Lane::i32, value, no_value, no_value, above);
    return code_.apply(Op::shift_right_signed, Lane::i32, high, no_value, no_value, above);
  }

  /// An f32 rounded to a 16-bit type, ties to even; NaN stays NaN.
  Value rounded(Value value, DType to) {
    if (to == DType::f16) return code_.apply(Op::round_half, Lane::f32, value);
    const auto whole = [&](Op op, Value a, Value b, std::uint64_t immediate = 0) {
      return code_.apply(op, Lane::i32, a, b, no_value, immediate);
    };
    const Value bits = whole(Op::reinterpret, value, no_value);
    const Value odd = whole(Op::bit_and, whole(Op::shift_right, bits, no_value, 16), constant(Lane::i32, 1));
    const Value number = whole(Op::add, whole(Op::add, bits, constant(Lane::i32, 0x7fff)), odd);
    const Value quiet = whole(Op::bit_or, bits, constant(Lane::i32, 0x400000));
    const Value is_nan = code_.apply(Op::not_equal, Lane::mask32, value, value);
    const Value either = code_.apply(Op::select, Lane::i32, is_nan, quiet, number);
    const Value kept = whole(Op::bit_and, either, constant(Lane::i32, -65536));
    return code_.apply(Op::reinterpret, Lane::f32, kept);
  }

  /// A bf16 as rounded() makes it, before its lower half was cleared: a store does not read that.
  Value before_clearing(Value value) {
    const Instruction outer = code_.code()[value];
    if (outer.op != Op::reinterpret) return value;
    const Instruction inner = code_.code()[outer.operands[0]];
    const Value upper_half = constant(Lane::i32, -65536);
    if (inner.op != Op::bit_and || inner.operands[1] != upper_half) return value;
    return code_.apply(Op::reinterpret, Lane::f32, inner.operands[0]);
  }

  Value called(Value value, DType from, DType to) {
    Call call{conversion(loops_, from, to), to, 1, {}, {no_value, no_value, no_value}};
    call.types[0] = from;
    call.operands[0] = value;
    return code_.call(call, lane_of(to));
  }

  /// Truncated towards zero; the nearest end of the type's range beyond it, 0 for NaN.
  Value saturated(Value value, Lane source, DType to) {
    double low = 0, high = 255, highest = high;
    switch (to) {
      case DType::i8: low = -128, high = highest = 127; break;
      case DType::u16: high = highest = 65535; break;
      case DType::i16: low = -32768, high = highest = 32767; break;
      case DType::i32:
        low = -0x1p31, high = 0x1p31 - 1;
        highest = source == Lane::f32 ? 0x1.fffffep30 : 0x1p31 - 0x1p-21;
        break;
      default: break;
    }
    const Lane mask = is_wide(source) ? Lane::mask64 : Lane::mask32;
    const Value lowest = constant(source, low), most = constant(source, highest), zero = constant(source, 0);
    const Value below = code_.apply(Op::less, mask, value, lowest), above = code_.apply(Op::less, mask, most, value);
    const Value not_below = code_.apply(Op::less_equal, mask, lowest, value);
    const Value not_above = code_.apply(Op::less_equal, mask, value, most);
    const Value inside =
        code_.apply(Op::select, source, code_.apply(Op::bit_and, mask, not_below, not_above), value, zero);
    const Value whole = code_.apply(Op::convert, Lane::i32, inside);
    const Value bounded = code_.apply(Op::select, Lane::i32, code_.mask(below, false), constant(Lane::i32, low), whole);
    return code_.apply(Op::select, Lane::i32, code_.mask(above, false), constant(Lane::i32, high), bounded);
  }

  core::LoopProgram program_;  // with explicit casts
  std::span<const InputSpec> inputs_;
  const TileLoops& loops_;
  std::vector<DType> types_;  // by value of the program
  std::vector<Value> values_;
  bool has_lanes_ = true;  // for every element type of the program
  CodeBuilder code_;
};

}  // namespace

std::optional<DType> partial_type(OpId op, DType type) {
  const bool extreme = op == OpId::min || op == OpId::max;
  if (!extreme && op != OpId::sum && op != OpId::mean && op != OpId::prod) return {};
  if (!extreme) return is_floating(type) ? DType::f64 : DType::i64;
  if (type == DType::boolean || has_no_lane(type) || is_narrow(type)) return {};
  return type == DType::f16 || type == DType::bf16 ? DType::f32 : type;
}

Code record(const core::LoopProgram& program, std::span<const InputSpec> inputs, std::span<const DType> outputs,
            const TileLoops& loops, bool scales) {
  return ProgramRecorder(program, inputs, outputs, loops, scales).take();
}

}  // namespace tyto::cpu::jit
