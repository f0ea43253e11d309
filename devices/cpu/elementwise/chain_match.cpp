// A chain's tree is laid over the program from its last instruction down. Products and sums are tried either way round,
// and turned again where a leaf that stands once more, further on, says that it was the wrong way.
#include "devices/cpu/elementwise/chain_match.hpp"

#include <algorithm>

namespace tyto::cpu {

namespace {

using core::OpId;
constexpr std::size_t nowhere = ~std::size_t{0};
/// An output counts as so many readers: more than any number of instructions.
constexpr std::uint32_t by_output = 1u << 16;

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
  for (const TileProgram::Output& output : program.outputs) readers_[output.source] += by_output;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const TileProgram::Instruction& each = program.instructions[i];
    made_by_[each.result] = i;
    for (std::size_t k = 0; k < operands_of(each.op); ++k) ++readers_[each.operands[k]];
  }
}

/// What is still to be found, the next one last.
class ChainMatcher::Goals {
 public:
  explicit Goals(Goal first) { push(first); }
  bool empty() const { return count_ == 0; }
  void push(Goal goal) { goals_[count_++] = goal; }
  Goal pop() { return goals_[--count_]; }

 private:
  std::array<Goal, 3 * ChainLoop::most_steps> goals_{};
  std::size_t count_ = 0;
};

ChainMatch ChainMatcher::longest(std::span<const ChainLoop> chains, std::size_t last) const {
  ChainMatch best;
  const OpId op = program_.instructions[last].op;
  for (const ChainLoop& chain : chains) {
    // Nearly all chains end here, before anything is made ready for a search.
    if (static_cast<OpId>(chain.steps[chain.count - 1].op) != op) continue;
    if (best.chain != nullptr && chain.count < best.chain->count) continue;
    ChainMatch match{&chain, {}, {}};
    match.leaves.fill(ChainMatch::unbound);
    if (!fits(match, Goals({chain.count - 1, program_.instructions[last].result}))) continue;
    if (best.chain == nullptr || chain.count > best.chain->count || numbers_in(match) > numbers_in(best)) best = match;
  }
  return best;
}

bool ChainMatcher::fits(ChainMatch& match, Goals goals) const {
  while (!goals.empty()) {
    const Goal goal = goals.pop();
    if (goal.part < 0) {
      if (!binds(match, goal)) return false;
      continue;
    }
    if (made_by_[goal.value] == nowhere || !stays_inside(*match.chain, goal)) return false;
    const ChainLoop::Step& wanted = match.chain->steps[goal.part];
    const TileProgram::Instruction& found = program_.instructions[made_by_[goal.value]];
    if (static_cast<OpId>(wanted.op) != found.op) return false;
    if (program_.registers[found.result] != DType::f32 || program_.registers[found.operands[2]] != DType::f32)
      return false;
    match.at[static_cast<std::size_t>(goal.part)] = made_by_[goal.value];
    const core::OpDef& definition = core::definition(found.op);
    std::array<TileProgram::Register, 3> operands = found.operands;
    const auto push_operands = [&](Goals& to) {
      for (auto k = static_cast<std::size_t>(definition.max_inputs); k-- > 0;)
        to.push({wanted.operands[k], operands[k]});
    };
    if (definition.max_inputs == 2 && definition.is(core::Traits::is_commutative)) {
      ChainMatch straight = match;
      Goals rest = goals;
      push_operands(rest);
      if (fits(straight, rest)) {
        match = straight;
        return true;
      }
      std::swap(operands[0], operands[1]);
    }
    push_operands(goals);
  }
  return true;
}

/// Nothing but the chain's next step reads what it does not give as a result.
bool ChainMatcher::stays_inside(const ChainLoop& chain, Goal goal) const {
  if (goal.part == chain.count - 1) return true;
  const std::span<const std::int8_t> results(chain.results, static_cast<std::size_t>(chain.result_count));
  const bool is_result = std::ranges::find(results, goal.part) != results.end();
  return readers_[goal.value] == (is_result ? 1 + by_output : 1);
}

bool ChainMatcher::binds(ChainMatch& match, Goal leaf) const {
  const int which = ~leaf.part;
  if (which >= ChainLoop::first_number && !numbers_[leaf.value]) return false;
  int& bound = match.leaves[static_cast<std::size_t>(which)];
  if (bound == ChainMatch::unbound) bound = leaf.value;
  return bound == leaf.value;
}

}  // namespace tyto::cpu
