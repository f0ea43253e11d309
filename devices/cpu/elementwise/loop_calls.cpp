// Finds each instruction's loop, or that of the chain which it ends.
#include "devices/cpu/elementwise/loop_calls.hpp"

#include "devices/cpu/elementwise/chain_match.hpp"
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

double cost_of(const TileProgram& program, const TileProgram::Instruction& each) {
  return nanoseconds_of(each.op) * (size_of(program.registers[each.operands[2]]) == 8 ? 2 : 1);
}

LoopCall call_of(const TileProgram& program, const TileProgram::Instruction& each, const TileLoops& loops) {
  const DType type = program.registers[each.operands[2]];
  LoopCall call;
  call.loop = find_loop(loops, each.op, type, program.registers[each.result]);
  if (call.loop == nullptr) {
    throw DeviceError(core::text("cpu: ", core::definition(each.op).name, " has no loop on ", name_of(type)));
  }
  call.result_list.fill(each.result);
  call.operands.fill(each.operands[2]);
  std::copy(each.operands.begin(), each.operands.end(), call.operands.begin());
  std::fill_n(call.used.begin(), each.operands.size(), true);
  call.nanoseconds = cost_of(program, each);
  const std::span singles(loops.chains->singles, loops.chains->single_count);
  const auto single = std::ranges::find(singles, static_cast<std::uint16_t>(each.op),
                                        [](const ChainLoop& chain) { return chain.steps[0].op; });
  if (type == DType::f32 && single != singles.end()) call.uncached = single->run_uncached;
  return call;
}

LoopCall call_of(const TileProgram& program, const ChainMatch& match) {
  LoopCall call;
  call.chain = match.chain->run;
  call.uncached = match.chain->run_uncached;
  call.sum = match.chain->sum;
  const auto bound =
      std::find_if(match.leaves.begin(), match.leaves.end(), [](int leaf) { return leaf != ChainMatch::unbound; });
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    const std::size_t leaf =
        match.leaves[k] == ChainMatch::unbound ? static_cast<std::size_t>(bound - match.leaves.begin()) : k;
    call.operands[k] = static_cast<TileProgram::Register>(match.leaves[leaf]);
    call.used[k] = match.leaves[k] != ChainMatch::unbound;
    call.numbers[k] = leaf >= static_cast<std::size_t>(ChainLoop::first_number);
  }
  for (int step = 0; step < match.chain->count; ++step) {
    call.nanoseconds += cost_of(program, program.instructions[match.at[static_cast<std::size_t>(step)]]);
  }
  const auto made = [&](std::size_t result) {
    return program.instructions[match.at[static_cast<std::size_t>(match.chain->results[result])]].result;
  };
  call.result_count = static_cast<std::size_t>(match.chain->result_count);
  call.result_list.fill(made(0));
  for (std::size_t k = 1; k < call.result_count; ++k) call.result_list[k] = made(k);
  return call;
}

/// The calls of the instructions that are not done yet, before those given.
std::vector<LoopCall> add_calls(const TileProgram& program, const ChainMatcher& matcher, const TileLoops& loops,
                                std::vector<bool> done, std::vector<LoopCall> calls) {
  for (std::size_t i = program.instructions.size(); i-- > 0;) {
    if (done[i]) continue;
    const ChainMatch match = matcher.longest({loops.chains->chains, loops.chains->chain_count}, i);
    if (match.chain == nullptr) {
      calls.push_back(call_of(program, program.instructions[i], loops));
      continue;
    }
    for (int step = 0; step < match.chain->count; ++step) done[match.at[static_cast<std::size_t>(step)]] = true;
    calls.push_back(call_of(program, match));
  }
  std::reverse(calls.begin(), calls.end());
  return calls;
}

}  // namespace

double nanoseconds_of(OpId op) {
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

double nanoseconds_of(const TileProgram& program) {
  double nanoseconds = 0;
  for (const TileProgram::Instruction& each : program.instructions) nanoseconds += cost_of(program, each);
  return nanoseconds;
}

std::vector<LoopCall> loop_calls(const TileProgram& program, const std::vector<bool>& numbers, const TileLoops& loops) {
  return add_calls(program, ChainMatcher(program, numbers), loops,
                   std::vector<bool>(program.instructions.size(), false), {});
}

std::vector<LoopCall> summing_calls(const TileProgram& program, const std::vector<bool>& numbers,
                                    const TileLoops& loops) {
  if (program.instructions.empty() || program.outputs.size() != 1) return {};
  if (program.instructions.back().result != program.outputs[0].source) return {};
  const ChainMatcher matcher(program, numbers);
  const std::size_t last = program.instructions.size() - 1;
  const ChainMatch match = matcher.longest({loops.chains->sums, loops.chains->sum_count}, last);
  if (match.chain == nullptr) return {};
  std::vector<bool> done(program.instructions.size(), false);
  for (int step = 0; step < match.chain->count; ++step) done[match.at[static_cast<std::size_t>(step)]] = true;
  return add_calls(program, matcher, loops, std::move(done), {call_of(program, match)});
}

}  // namespace tyto::cpu
