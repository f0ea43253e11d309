// A chain's tree is laid over the program from its last instruction down; products and sums either way round.
#include "devices/cpu/elementwise/chain_match.hpp"

#include <algorithm>

namespace tyto::cpu {

namespace {

using core::OpId;
constexpr std::size_t nowhere = ~std::size_t{0};

std::size_t operands_of(OpId op) {
  return op == OpId::cast ? 1 : static_cast<std::size_t>(core::definition(op).max_inputs);
}

int numbers_in(const ChainMatch& match) {
  return static_cast<int>(std::count_if(match.leaves.begin() + ChainLoop::first_number, match.leaves.end(),
                                        [](int leaf) { return leaf != ChainMatch::unbound; }));
}

}  // namespace

ChainMatcher::ChainMatcher(const TileProgram& program, const std::vector<bool>& numbers)
    : program_(program),
      numbers_(numbers),
      made_by_(program.registers.size(), nowhere),
      readers_(program.registers.size(), 0) {
  for (const TileProgram::Output& output : program.outputs) readers_[output.source] += 2;  // must be stored as it is
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const TileProgram::Instruction& each = program.instructions[i];
    made_by_[each.result] = i;
    for (std::size_t k = 0; k < operands_of(each.op); ++k) ++readers_[each.operands[k]];
  }
}

ChainMatch ChainMatcher::longest(std::span<const ChainLoop> chains, std::size_t last) const {
  ChainMatch best;
  for (const ChainLoop& chain : chains) {
    if (best.chain != nullptr && chain.count < best.chain->count) continue;
    ChainMatch match{&chain, {}, {}};
    match.leaves.fill(ChainMatch::unbound);
    if (!fits(match, chain.count - 1, last)) continue;
    if (best.chain == nullptr || chain.count > best.chain->count || numbers_in(match) > numbers_in(best)) best = match;
  }
  return best;
}

bool ChainMatcher::fits(ChainMatch& match, int step, std::size_t instruction) const {
  const ChainLoop::Step& wanted = match.chain->steps[step];
  const TileProgram::Instruction& found = program_.instructions[instruction];
  if (static_cast<OpId>(wanted.op) != found.op) return false;
  if (program_.registers[found.result] != DType::f32 || program_.registers[found.operands[2]] != DType::f32)
    return false;
  match.at[static_cast<std::size_t>(step)] = instruction;
  const core::OpDef& definition = core::definition(found.op);
  const ChainMatch before = match;
  bool all = true;
  for (int k = 0; k < definition.max_inputs && all; ++k)
    all = takes(match, wanted.operands[k], found.operands[static_cast<std::size_t>(k)]);
  if (all || definition.max_inputs != 2 || !definition.is(core::Traits::is_commutative)) return all;
  match = before;
  return takes(match, wanted.operands[0], found.operands[1]) && takes(match, wanted.operands[1], found.operands[0]);
}

bool ChainMatcher::takes(ChainMatch& match, int part, TileProgram::Register value) const {
  if (part >= 0) return readers_[value] == 1 && made_by_[value] != nowhere && fits(match, part, made_by_[value]);
  const int leaf = ~part;
  if (leaf >= ChainLoop::first_number && !numbers_[value]) return false;
  int& bound = match.leaves[static_cast<std::size_t>(leaf)];
  if (bound == ChainMatch::unbound) bound = value;
  return bound == value;
}

}  // namespace tyto::cpu
