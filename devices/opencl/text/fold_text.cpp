// SPDX-License-Identifier: MIT
// Writes the rules of each reduction that adds up elements.
#include "devices/opencl/text/fold_text.hpp"

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/text/expressions.hpp"

namespace tyto::opencl {

namespace {

struct Extremes {
  const char* least;
  const char* most;
};
Extremes extremes_of(Compute type) {
  if (type == Compute::u64) return {"0", "ULONG_MAX"};
  return type == Compute::i64 ? Extremes{"LONG_MIN", "LONG_MAX"} : Extremes{"INT_MIN", "INT_MAX"};
}

}  // namespace

DType FoldText::accumulator_of(OpId op, DType type) {
  switch (op) {
    case OpId::sum:
    case OpId::prod:
    case OpId::mean:
      if (type == DType::f64 || type == DType::u64) return type;
      return is_floating(type) ? DType::f32 : DType::i64;
    default: return computed_as(type);
  }
}

std::string FoldText::element(DType from, std::string_view value) const {
  return convert(from == DType::boolean ? DType::i32 : from, accumulator_, value);
}

std::string FoldText::start() const {
  const Compute type = compute_of(accumulator_);
  switch (op_) {
    case OpId::prod:
    case OpId::all: return "1";
    case OpId::min: return is_floating(type) ? "INFINITY" : extremes_of(type).most;
    case OpId::max: return is_floating(type) ? "-INFINITY" : extremes_of(type).least;
    default: return "0";
  }
}

std::string FoldText::two(const std::string& a, const std::string& b) const {
  const auto by = [&](OpId op) { return apply(op, accumulator_, {accumulator_, accumulator_}, {a, b}, false); };
  switch (op_) {
    case OpId::prod: return by(OpId::multiply);
    case OpId::min: return by(OpId::minimum);
    case OpId::max: return by(OpId::maximum);
    case OpId::any: return text(a, " | ", b);
    case OpId::all: return text(a, " & ", b);
    case OpId::sum:
    case OpId::mean: return by(OpId::add);
    default: core::refuse_operator("opencl: reductions", op_);
  }
}

void FoldText::declare_divisor(KernelText& kernel, std::string_view name, double count) const {
  if (op_ != OpId::mean) return;
  const bool wide = accumulator_ == DType::f64;
  kernel.constant(wide ? "double" : "float", name, wide ? Argument(count) : Argument(static_cast<float>(count)));
}

std::string FoldText::finished(DType result, const std::string& value, std::string_view divisor) const {
  const std::string last = op_ == OpId::mean ? text(value, " / ", divisor) : value;
  return convert(accumulator_, result, text("(", last, ")"));
}

}  // namespace tyto::opencl
