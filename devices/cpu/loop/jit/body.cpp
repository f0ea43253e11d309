// SPDX-License-Identifier: MIT
// Marks which values of a body are needed, and computes where each is used.
#include "devices/cpu/loop/jit/body.hpp"

#include <algorithm>

namespace tyto::cpu::jit {

Body::Body(const KernelSpec& spec, bool one_mask) : code(spec.code) {
  const std::size_t count = code.instructions.size();
  root.resize(count);
  same_in_row.assign(count, false);
  std::vector<bool> wanted(count, false);
  for (const Code::Store& store : code.stores) wanted[static_cast<std::size_t>(store.value)] = true;
  for (const Code::Reduction& each : code.reductions) wanted[static_cast<std::size_t>(each.value)] = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Instruction& instruction = code.instructions[i];
    const auto value = static_cast<Value>(i);
    const bool alias = instruction.op == Op::reinterpret || (one_mask && instruction.op == Op::resize);
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
  std::vector<std::pair<Value, int>> reads;
  reads.reserve(2 * element.size());
  int position = 0;
  for (const Value value : element) {
    const std::size_t before = reads.size();
    operands(value, [&](Value operand) {
      const std::pair<Value, int> read(operand, position);
      if (std::find(reads.begin() + static_cast<std::ptrdiff_t>(before), reads.end(), read) == reads.end()) {
        reads.push_back(read);
      }
    });
    ++position;
  }
  for (const Code::Reduction& each : code.reductions) {
    reads.emplace_back(root[static_cast<std::size_t>(each.value)], position);
    ++position;
  }
  for (const Code::Store& store : code.stores)
    reads.emplace_back(root[static_cast<std::size_t>(store.value)], position++);
  sort_uses(reads);
  int alive = 0;
  std::vector<Value> ended;
  for (std::size_t at = 0; at < element.size(); ++at) {
    pressure = std::max(pressure, ++alive);
    ended.clear();
    operands(element[at], [&](Value operand) {
      const bool last = uses(operand).back() == static_cast<int>(at);
      if (!last || same_in_row[static_cast<std::size_t>(operand)]) return;
      if (std::find(ended.begin(), ended.end(), operand) != ended.end()) return;
      ended.push_back(operand);
      --alive;
    });
    if (uses(element[at]).empty()) --alive;
  }
}

// Sorts readers by the value that they read, stably (counting sort).
void Body::sort_uses(const std::vector<std::pair<Value, int>>& reads) {
  first_use_.assign(root.size() + 1, 0);
  for (const auto& [value, position] : reads) ++first_use_[static_cast<std::size_t>(value) + 1];
  for (std::size_t i = 0; i < root.size(); ++i) first_use_[i + 1] += first_use_[i];
  positions_.resize(reads.size());
  std::vector<std::size_t> next(first_use_.begin(), first_use_.end() - 1);
  for (const auto& [value, position] : reads) positions_[next[static_cast<std::size_t>(value)]++] = position;
}

}  // namespace tyto::cpu::jit
