// SPDX-License-Identifier: MIT
// Follows a tile program: operands are loaded when they are first read, conversions and operators become code.
#include "devices/cpu/loop/jit/record.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/graph/op_ids.hpp"
#include "core/value/stored_scalar.hpp"
#include "devices/cpu/loop/interpreter/find_loop.hpp"
#include "devices/cpu/loop/jit/record_operators.hpp"

namespace tyto::cpu::jit {

namespace {

using core::OpId;

/// u32 is half as wide in memory as the i64 that it is computed in, and lanes of 64 bits have a sign.
constexpr bool has_no_lane(DType type) { return type == DType::u32 || type == DType::u64; }

constexpr bool is_narrow(DType type) { return is_integer(type) && size_of(type) < 4; }

class ProgramRecorder {
 public:
  ProgramRecorder(const TileProgram& program, std::span<const InputSpec> inputs, std::span<const DType> outputs,
                  const TileLoops& loops, InstructionSet set)
      : program_(program),
        inputs_(inputs),
        loops_(loops),
        values_(program.registers.size(), no_value),
        code_(set == InstructionSet::avx512) {
    has_lanes_ = std::ranges::none_of(program.registers, has_no_lane) &&
                 std::ranges::none_of(inputs, has_no_lane, &InputSpec::stored) &&
                 std::ranges::none_of(outputs, has_no_lane);
    if (!has_lanes_) return;
    for (const TileProgram::Constant& each : program.constants) {
      values_[each.result] = number(type_of(each.result), core::as_stored(each.value, type_of(each.result)));
    }
    for (const TileProgram::Instruction& each : program.instructions) values_[each.result] = follow(each);
    for (const TileProgram::Output& output : program.outputs) {
      const DType stored = outputs[static_cast<std::size_t>(output.operand)];
      const Value value = convert(read(output.source), type_of(output.source), stored);
      code_.store(stored == DType::bf16 ? before_clearing(value) : value, output.operand);
    }
    for (const TileProgram::Reduction& each : program.reductions) reduce(each);
  }

  /// A call for one vector takes about as long as sixteen of the interpreter's instructions, whose loops see a tile at
  /// a time: programs of few other instructions are left to it, and those of types without a lane.
  Code take() {
    Code code = code_.take();
    const auto calls = static_cast<std::size_t>(std::ranges::count(code.instructions, Op::call, &Instruction::op));
    if (!has_lanes_) code.complete = false;
    if (program_.reductions.empty() && calls != 0 && program_.instructions.size() <= 16 * calls) code.complete = false;
    return code;
  }

 private:
  DType type_of(TileProgram::Register which) const { return program_.registers[which]; }

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

  /// A register's value, loaded now if it is an input that nobody has read before.
  Value read(TileProgram::Register which) {
    if (values_[which] == no_value) {
      for (const TileProgram::Input& input : program_.inputs) {
        if (input.result != which) continue;
        const auto [stored, same_along_row] = inputs_[static_cast<std::size_t>(input.operand)];
        const Value loaded = code_.load(input.operand, lane_of(stored), same_along_row);
        values_[which] = convert(loaded, stored, type_of(which));
      }
    }
    return values_[which];
  }

  Value follow(const TileProgram::Instruction& each) {
    if (each.op == OpId::cast) {
      return convert(read(each.operands[0]), type_of(each.operands[0]), type_of(each.result));
    }
    const int count = core::definition(each.op).max_inputs;
    std::array<Value, 3> operands{no_value, no_value, no_value};
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) operands[k] = read(each.operands[k]);
    const DType type = type_of(each.operands[2]);
    const RecordedOperator made = record_operator(code_, each.op, type, operands);
    if (made.value != no_value && made.in_range == no_value) return made.value;
    Call call{find_loop(loops_, each.op, type), type_of(each.result), count, {}, {no_value, no_value, no_value}};
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
      call.types[k] = type_of(each.operands[k]);
      call.operands[k] = operands[k];
    }
    return code_.call(call, lane_of(call.result), made.in_range, made.value);
  }

  void reduce(const TileProgram::Reduction& each) {
    const Value value = read(each.source);
    const DType type = type_of(each.source);
    switch (each.op) {
      case OpId::min: return code_.reduce(Fold::minimum, value, each.operand);
      case OpId::max: return code_.reduce(Fold::maximum, value, each.operand);
      case OpId::prod:
        return code_.reduce(Fold::product, convert(value, type, is_floating(type) ? DType::f64 : DType::i64),
                            each.operand);
      default:
        return code_.reduce(Fold::sum, is_floating(type) ? value : convert(value, type, DType::i64), each.operand);
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
  static std::uint64_t index_of(DType type) { return static_cast<std::uint64_t>(type); }

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
    Call call{loops_.convert[index_of(from)][index_of(to)], to, 1, {}, {no_value, no_value, no_value}};
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

  const TileProgram& program_;
  std::span<const InputSpec> inputs_;
  const TileLoops& loops_;
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

Code record(const TileProgram& program, std::span<const InputSpec> inputs, std::span<const DType> outputs,
            const TileLoops& loops, InstructionSet set) {
  return ProgramRecorder(program, inputs, outputs, loops, set).take();
}

}  // namespace tyto::cpu::jit
