// SPDX-License-Identifier: MIT
// The expressions of ops/elementwise.def on recording lanes: one table an operand type.
#define TYTO_ISA recorded
#include "devices/cpu/loop/jit/record_operators.hpp"
#include "devices/cpu/loop/jit/recorded_lanes.hpp"

#include "devices/cpu/arithmetic/tile_loops/operator_expressions.hpp"

namespace tyto::cpu::recorded {

using jit::Value;

namespace {

template <class T>
T operand(Value value) {
  if constexpr (std::same_as<T, mask>) return mask::of(value);
  else return T::of(value);
}
Value result(const mask& value) { return value.value(false); }
template <class Number, jit::Lane lane>
Value result(const Recorded<Number, lane>& value) {
  return value.value();
}

using Record = Value (*)(const std::array<Value, 3>& operands);

template <class Operator, class T>
consteval Record unary() {
  if constexpr (!defined_on<T>(Operator::domain)) return nullptr;
  else return [](const std::array<Value, 3>& x) { return result(Operator::template apply<T>(operand<T>(x[0]))); };
}
template <class Operator, class T>
consteval Record binary() {
  if constexpr (!defined_on<T>(Operator::domain)) return nullptr;
  else
    return [](const std::array<Value, 3>& x) {
      return result(Operator::template apply<T>(operand<T>(x[0]), operand<T>(x[1])));
    };
}
template <class Operator, class T>
consteval Record ternary() {
  using First = std::conditional_t<Operator::domain == Domain::selection, mask, T>;
  if constexpr (!defined_on<T>(Operator::domain)) return nullptr;
  else
    return [](const std::array<Value, 3>& x) {
      return result(Operator::template apply<First, T>(operand<First>(x[0]), operand<T>(x[1]), operand<T>(x[2])));
    };
}

template <class T>
constexpr Record table[] = {
#define TYTO_UNARY(name, ...) unary<name##_operator, T>(),
#define TYTO_BINARY(name, ...) binary<name##_operator, T>(),
#define TYTO_TERNARY(name, ...) ternary<name##_operator, T>(),
#include "tyto/ops/elementwise.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
};

Record find(core::OpId op, DType type) {
  const auto at = static_cast<std::size_t>(op);
  switch (type) {
    case DType::boolean: return table<mask>[at];
    case DType::i32: return table<i32>[at];
    case DType::i64: return table<i64>[at];
    case DType::f32: return table<f32>[at];
    case DType::f64: return table<f64>[at];
    default: return nullptr;
  }
}

}  // namespace

}  // namespace tyto::cpu::recorded

namespace tyto::cpu::jit {

RecordedOperator record_operator(CodeBuilder& code, core::OpId op, DType working_type,
                                 const std::array<Value, 3>& operands) {
  const auto record = recorded::find(op, working_type);
  if (record == nullptr) return {};
  recorded::Recording recording{code};
  recorded::recording = &recording;
  RecordedOperator made{record(operands), recording.in_range};
  recorded::recording = nullptr;
  if (!recording.recordable) return {};
  return made;
}

}  // namespace tyto::cpu::jit
