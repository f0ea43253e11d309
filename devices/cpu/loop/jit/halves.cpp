// SPDX-License-Identifier: MIT
// Follows the code; what meets between the widths is joined from two halves, or taken from one of them.
#include "devices/cpu/loop/jit/halves.hpp"

namespace tyto::cpu::jit {

namespace {

bool is_leaf(Op op) { return op == Op::constant || op == Op::load || op == Op::broadcast; }
bool is_between_lanes(Op op) { return op == Op::convert || op == Op::resize; }
bool is_call(Op op) { return op == Op::call || op == Op::call_unless; }

/// Whether halves can be made of the code, and take fewer instructions than vectors of half as many lanes.
bool pays(const KernelSpec& spec) {
  if (!spec.code.wide || spec.variant == Variant::single) return false;
  std::size_t narrow = 0, between = 0;
  for (const Instruction& each : spec.code.instructions) {
    if (is_call(each.op)) {
      const Call& call = spec.code.calls[each.immediate];
      if (is_wide(each.lane)) return false;
      for (int k = 0; k < call.count; ++k) {
        if (is_wide(lane_of(call.types[static_cast<std::size_t>(k)]))) return false;
      }
    }
    if (each.op == Op::constant || each.op == Op::broadcast || each.op == Op::reinterpret) continue;
    const bool from_wide = each.operands[0] != no_value && is_wide(spec.code[each.operands[0]].lane);
    if (is_between_lanes(each.op) && from_wide != is_wide(each.lane)) ++between;
    else if (!is_wide(each.lane)) ++narrow;
  }
  return narrow > between;
}

class Halver {
 public:
  Halver(const Code& code, bool scales) : code_(code), made_(scales) {
    low_.reserve(code.instructions.size());
    for (const Instruction& each : code.instructions) follow(each);
    for (const Code::Store& store : code.stores) {
      made_.store(low(store.value), store.operand);
      if (is_wide(code[store.value].lane)) made_.store(high(store.value), store.operand, 1);
    }
    for (const Code::Reduction& each : code.reductions) {
      const Value second = is_wide(code[each.value].lane) ? high(each.value) : no_value;
      made_.reduce(each.fold, low(each.value), each.operand, second);
    }
  }

  Code take() {
    Code result = made_.take();
    result.halves = true;
    return result;
  }

 private:
  Value low(Value value) const { return value == no_value ? no_value : low_[static_cast<std::size_t>(value)]; }
  Value high(Value value) const { return value == no_value ? no_value : high_[static_cast<std::size_t>(value)]; }
  bool is_wide_value(Value value) const { return value != no_value && is_wide(code_[value].lane); }
  bool same_in_row(Value value) const { return value == no_value || same_[static_cast<std::size_t>(value)]; }

  /// A value of wide lanes as one of narrow ones.
  Value joined(Value value, Lane lane) { return made_.apply(Op::join, lane, low(value), high(value)); }

  void give(Value first, Value second, bool same) {
    low_.push_back(first);
    high_.push_back(second);
    same_.push_back(same);
  }

  void follow(const Instruction& each) {
    const Value a = each.operands[0], b = each.operands[1], c = each.operands[2];
    const bool wide = is_wide(each.lane);
    if (is_leaf(each.op)) {
      if (each.op == Op::constant) {
        const Value value = made_.constant(each.lane, each.immediate);
        return give(value, value, true);
      }
      const auto operand = static_cast<int>(each.immediate);
      const bool broadcast = each.op == Op::broadcast;
      const Value first = made_.load(operand, each.lane, broadcast);
      return give(first, wide && !broadcast ? made_.load(operand, each.lane, false, 1) : first, broadcast);
    }
    bool same = same_in_row(a) && same_in_row(b) && same_in_row(c);
    if (is_call(each.op)) {
      Call call = code_.calls[each.immediate];
      for (Value& operand : call.operands) {
        same = same && same_in_row(operand);
        operand = low(operand);
      }
      const Value unless = is_wide_value(b) ? joined(b, Lane::mask32) : low(b);
      const Value value = made_.call(call, each.lane, unless, low(a));
      return give(value, value, same);
    }
    if (is_between_lanes(each.op) && is_wide_value(a) != wide) {
      if (!wide) {
        const Value value = joined(a, each.lane);
        return give(value, value, same);
      }
      const auto half = [&](std::uint64_t which) {
        return made_.apply(each.op, each.lane, low(a), no_value, no_value, which << half_shift);
      };
      const Value first = half(0);
      return give(first, same ? first : half(1), same);
    }
    const Value first = made_.apply(each.op, each.lane, low(a), low(b), low(c), each.immediate);
    const Value second = wide ? made_.apply(each.op, each.lane, high(a), high(b), high(c), each.immediate) : first;
    give(first, second, same);
  }

  const Code& code_;
  CodeBuilder made_;
  std::vector<Value> low_, high_;  // by value of the code; the same one of narrow lanes
  std::vector<bool> same_;         // in all lanes
};

}  // namespace

std::optional<Code> in_halves(const KernelSpec& spec, bool scales) {
  if (!pays(spec)) return {};
  return Halver(spec.code, scales).take();
}

}  // namespace tyto::cpu::jit
