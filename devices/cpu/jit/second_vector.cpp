// Copies what differs from vector to vector.
#include "devices/cpu/jit/second_vector.hpp"

#include <algorithm>

namespace tyto::cpu::jit {

namespace {

constexpr std::size_t shortest = 160, longest = 12000;  // instructions

bool follows_elements(const OperandSpec& spec) {
  return spec.access == Access::contiguous || spec.access == Access::broadcast || spec.every_second;
}

}  // namespace

void add_second_vector(KernelSpec& spec) {
  Code& code = spec.code;
  const std::size_t count = code.instructions.size();
  if (spec.variant == Variant::single || count < shortest || count > longest) return;
  if (std::ranges::count(code.wanted(), true) < static_cast<std::ptrdiff_t>(shortest)) return;
  const auto may_be_written = [](const OperandSpec& each) {
    return each.access == Access::reduced || follows_elements(each);
  };
  if (!std::ranges::all_of(spec.inputs, follows_elements) || !std::ranges::all_of(spec.outputs, may_be_written)) return;
  std::vector<Value> second(count, no_value);
  const auto other = [&](Value value) {
    return value == no_value || second[static_cast<std::size_t>(value)] == no_value
               ? value
               : second[static_cast<std::size_t>(value)];
  };
  for (std::size_t i = 0; i < count; ++i) {
    Instruction copy = code.instructions[i];
    bool differs = copy.op == Op::load;
    const auto follow = [&](Value& operand) {
      const Value seconds = other(operand);
      differs = differs || seconds != operand;
      operand = seconds;
    };
    for (Value& operand : copy.operands) follow(operand);
    Call call;
    const bool calls = copy.op == Op::call || copy.op == Op::call_unless;
    if (calls) {
      call = code.calls[copy.immediate];
      for (Value& operand : call.operands) follow(operand);
    }
    if (!differs) continue;
    if (calls) {
      copy.immediate = code.calls.size();
      code.calls.push_back(call);
    }
    second[i] = static_cast<Value>(code.instructions.size());
    code.instructions.push_back(copy);
  }
  const std::vector<Code::Store> stores = code.stores;
  for (Code::Store store : stores) {
    store.value = other(store.value);
    store.vector = 1;
    code.stores.push_back(store);
  }
  second.resize(code.instructions.size(), no_value);
  code.second = std::move(second);
}

}  // namespace tyto::cpu::jit
