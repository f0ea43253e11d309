// Finds out what is needed, and when.
#include "devices/cpu/jit/body.hpp"

#include <algorithm>

namespace tyto::cpu::jit {

Body::Body(const KernelSpec& spec, bool one_mask) : code(spec.code) {
  const std::size_t count = code.instructions.size();
  root.resize(count);
  same_in_row.assign(count, false);
  std::vector<bool> wanted(count, false);
  for (const Code::Store& store : code.stores) wanted[static_cast<std::size_t>(store.value)] = true;
  for (const Code::Reduction& each : code.reductions) {
    for (const Value value : values_of(each)) wanted[static_cast<std::size_t>(value)] = true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Instruction& instruction = code.instructions[i];
    const auto value = static_cast<Value>(i);
    const bool alias =
        instruction.op == Op::reinterpret || (one_mask && instruction.op == Op::resize && half_of(instruction) == 0);
    root[i] = alias ? root[static_cast<std::size_t>(instruction.operands[0])] : value;
    bool same = instruction.op != Op::load;
    operands(value, [&](Value operand) { same = same && same_in_row[static_cast<std::size_t>(operand)]; });
    same_in_row[i] = same;
  }
  for (std::size_t i = count; i-- > 0;) {
    const auto value = static_cast<Value>(i);
    if (root[i] != value) {
      wanted[static_cast<std::size_t>(root[i])] = wanted[static_cast<std::size_t>(root[i])] || wanted[i];
    } else if (wanted[i]) {
      operands(value, [&](Value operand) { wanted[static_cast<std::size_t>(operand)] = true; });
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<Value>(i);
    if (!wanted[i] || root[i] != value || code.instructions[i].op == Op::constant) continue;
    (same_in_row[i] ? row : element).push_back(value);
  }
  uses.resize(count);
  int position = 0;
  for (const Value value : element) {
    operands(value, [&](Value operand) {
      std::vector<int>& list = uses[static_cast<std::size_t>(operand)];
      if (list.empty() || list.back() != position) list.push_back(position);
    });
    ++position;
  }
  for (const Code::Reduction& each : code.reductions) {
    for (const Value value : values_of(each)) {
      uses[static_cast<std::size_t>(root[static_cast<std::size_t>(value)])].push_back(position);
    }
    ++position;
  }
  for (const Code::Store& store : code.stores) {
    uses[static_cast<std::size_t>(root[static_cast<std::size_t>(store.value)])].push_back(position++);
  }
  int alive = 0;
  std::vector<Value> ended;
  for (std::size_t at = 0; at < element.size(); ++at) {
    pressure = std::max(pressure, ++alive);
    ended.clear();
    operands(element[at], [&](Value operand) {
      const bool last = uses[static_cast<std::size_t>(operand)].back() == static_cast<int>(at);
      if (!last || same_in_row[static_cast<std::size_t>(operand)]) return;
      if (std::find(ended.begin(), ended.end(), operand) != ended.end()) return;
      ended.push_back(operand);
      --alive;
    });
    if (uses[static_cast<std::size_t>(element[at])].empty()) --alive;
  }
}

}  // namespace tyto::cpu::jit
