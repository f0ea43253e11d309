// Finds each instruction's loop, and pairs of instructions that have a loop of their own.
#include "devices/cpu/elementwise/loop_calls.hpp"

#include "engine/core/text.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;

std::size_t index_of(DType type) { return static_cast<std::size_t>(type); }

TileLoop find_loop(const TileLoops& loops, OpId op, DType type, DType result) {
  if (op == OpId::cast) return loops.convert[index_of(type)][index_of(result)];
  const auto i = static_cast<std::size_t>(op);
  if (i >= elementwise_count) return nullptr;
  switch (type) {
    case DType::boolean: return loops.boolean[i];
    case DType::i32: return loops.i32[i];
    case DType::i64: return loops.i64[i];
    case DType::f32: return loops.f32[i];
    case DType::f64: return loops.f64[i];
    default: return nullptr;
  }
}

const PairLoop* find_pair(const TileLoops& loops, OpId first, OpId second, std::size_t position) {
  for (std::size_t list = 0; list < 2; ++list) {
    for (std::size_t i = 0; i < *loops.pair_counts[list]; ++i) {
      const PairLoop& each = loops.pairs[list][i];
      if (static_cast<OpId>(each.first) == first && static_cast<OpId>(each.second) == second &&
          each.position == position) {
        return &each;
      }
    }
  }
  return nullptr;
}

std::size_t operands_of(OpId op) {
  return op == OpId::cast ? 1 : static_cast<std::size_t>(core::definition(op).max_inputs);
}

/// Rough nanoseconds an element on one thread, in f32; decides only whether threads are worth waking.
double cost_of(OpId op) {
  switch (op) {
    case OpId::lgamma:
    case OpId::digamma:
    case OpId::trigamma: return 15;
    case OpId::erfinv:
    case OpId::dawsn:
    case OpId::power: return 2;
    case OpId::floor_divide:
    case OpId::remainder:
    case OpId::fmod:
    case OpId::divide:
    case OpId::sqrt:
    case OpId::rsqrt:
    case OpId::reciprocal: return 0.3;
    default: return op >= OpId::cbrt && op <= OpId::dawsn && op != OpId::relu ? 0.5 : 0.03;
  }
}

}  // namespace

std::vector<LoopCall> loop_calls(const TileProgram& program, const TileLoops& loops) {
  std::vector<std::uint32_t> readers(program.registers.size(), 0);
  std::vector<std::size_t> made_by(program.registers.size(), ~std::size_t{0});
  for (const TileProgram::Output& output : program.outputs) readers[output.source] += 2;  // must be stored as it is
  for (const TileProgram::Instruction& each : program.instructions) {
    for (std::size_t k = 0; k < operands_of(each.op); ++k) ++readers[each.operands[k]];
  }
  std::vector<LoopCall> calls;
  std::vector<bool> gone;
  std::vector<bool> paired;
  for (const TileProgram::Instruction& each : program.instructions) {
    const DType type = program.registers[each.operands[2]];
    const DType to = program.registers[each.result];
    LoopCall call{find_loop(loops, each.op, type, to),
                  each.op,
                  each.result,
                  each.operands,
                  type,
                  cost_of(each.op) * (size_of(type) == 8 ? 2 : 1)};
    if (call.loop == nullptr) {
      throw DeviceError(core::text("cpu: ", core::definition(each.op).name, " has no loop on ", name_of(type)));
    }
    bool pair = false;
    for (std::size_t k = 0; k < operands_of(each.op) && !pair && type == DType::f32 && to == DType::f32; ++k) {
      const std::size_t maker = made_by[each.operands[k]];
      if (readers[each.operands[k]] != 1 || maker == ~std::size_t{0} || gone[maker] || paired[maker]) continue;
      const LoopCall& first = calls[maker];
      const PairLoop* found = first.type == DType::f32 ? find_pair(loops, first.op, each.op, k) : nullptr;
      if (found == nullptr) continue;
      pair = true;
      call.loop = found->loop;
      call.operands = first.operands;
      const std::size_t own = operands_of(first.op);
      if (operands_of(each.op) == 2) call.operands[own] = each.operands[1 - k];
      for (std::size_t rest = own + operands_of(each.op) - 1; rest < 3; ++rest) {
        call.operands[rest] = call.operands[rest - 1];
      }
      call.nanoseconds += first.nanoseconds;
      gone[maker] = true;
    }
    made_by[each.result] = calls.size();
    calls.push_back(call);
    gone.push_back(false);
    paired.push_back(pair);
  }
  std::vector<LoopCall> left;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!gone[i]) left.push_back(calls[i]);
  }
  return left;
}

}  // namespace tyto::cpu
