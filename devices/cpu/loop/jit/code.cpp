// SPDX-License-Identifier: MIT
// Builds code with value numbering: looks each instruction up before it is added.
#include "devices/cpu/loop/jit/code.hpp"

#include <algorithm>

#include "core/value/hash.hpp"

namespace tyto::cpu::jit {

namespace {

std::size_t hash_of(const Instruction& instruction) {
  std::uint64_t seed = core::mixed_hash(instruction.immediate, static_cast<std::uint64_t>(instruction.op) << 8 |
                                                                   static_cast<std::uint64_t>(instruction.lane));
  for (const Value operand : instruction.operands) seed = core::mixed_hash(seed, static_cast<std::uint16_t>(operand));
  return seed;
}

bool same(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.lane == b.lane && a.operands == b.operands && a.immediate == b.immediate;
}

}  // namespace

std::vector<bool> Code::wanted() const {
  std::vector<bool> read(instructions.size());
  const auto want = [&](Value value) {
    if (value != no_value) read[static_cast<std::size_t>(value)] = true;
  };
  for (const Store& store : stores) want(store.value);
  for (const Reduction& each : reductions) want(each.value);
  for (std::size_t i = instructions.size(); i-- > 0;) {
    if (!read[i]) continue;
    const Instruction& each = instructions[i];
    std::ranges::for_each(each.operands, want);
    if (each.op == Op::call || each.op == Op::call_unless) std::ranges::for_each(calls[each.immediate].operands, want);
  }
  return read;
}

Value CodeBuilder::constant(Lane lane, std::uint64_t bits) {
  return add({Op::constant, lane, {no_value, no_value, no_value}, bits & all_of(lane)});
}

Value CodeBuilder::load(int operand, Lane lane, bool broadcast) {
  return add({broadcast ? Op::broadcast : Op::load,
              lane,
              {no_value, no_value, no_value},
              static_cast<std::uint64_t>(operand)});
}

Value CodeBuilder::apply(Op op, Lane lane, Value a, Value b, Value c, std::uint64_t immediate) {
  const Instruction instruction{op, lane, {a, b, c}, immediate};
  const Value known = folded(instruction);
  return known != no_value ? known : add(instruction);
}

Value CodeBuilder::mask(Value value, bool wide) {
  const Lane lane = wide ? Lane::mask64 : Lane::mask32;
  if (code_[value].lane == lane) return value;
  if (is_constant(value)) return constant(lane, bits(value) != 0 ? ~std::uint64_t{0} : 0);
  return apply(Op::resize, lane, value);
}

Value CodeBuilder::call(const Call& call, Lane lane, Value unless, Value value) {
  std::size_t number = 0;
  while (number < code_.calls.size() && !(code_.calls[number] == call)) ++number;
  if (number == code_.calls.size()) code_.calls.push_back(call);
  const Op op = unless == no_value ? Op::call : Op::call_unless;
  return add({op, lane, {value, unless, no_value}, static_cast<std::uint64_t>(number)});
}

Value CodeBuilder::add(const Instruction& instruction) {
  constexpr std::size_t most_values = 1 << 14;
  if (code_.instructions.size() == most_values) {
    code_.complete = false;
    return static_cast<Value>(most_values - 1);
  }
  if (table_.size() < 2 * (code_.instructions.size() + 1)) {
    table_.assign(std::max<std::size_t>(64, 4 * code_.instructions.size()), no_value);
    for (std::size_t i = 0; i < code_.instructions.size(); ++i) {
      std::size_t at = hash_of(code_.instructions[i]) % table_.size();
      while (table_[at] != no_value) at = (at + 1) % table_.size();
      table_[at] = static_cast<Value>(i);
    }
  }
  std::size_t at = hash_of(instruction) % table_.size();
  for (; table_[at] != no_value; at = (at + 1) % table_.size()) {
    if (same(code_[table_[at]], instruction)) return table_[at];
  }
  table_[at] = static_cast<Value>(code_.instructions.size());
  code_.instructions.push_back(instruction);
  if (is_wide(instruction.lane)) code_.wide = true;
  return table_[at];
}

}  // namespace tyto::cpu::jit
