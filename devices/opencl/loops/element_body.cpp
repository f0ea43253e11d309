// SPDX-License-Identifier: MIT
// The statements of one element, made of the operator table's expressions.
#include "devices/opencl/loops/element_body.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/op_ids.hpp"
#include "core/value/stored_scalar.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/text/element_types.hpp"
#include "devices/opencl/text/expressions.hpp"

namespace tyto::opencl {

namespace {

bool is_integral(const core::RangeAttributes& range, DType dtype) {
  return !is_floating(dtype) && !range.start.is_floating() && !range.step.is_floating();
}

void real_constants(KernelText& kernel, bool wide, double first, double second) {
  const auto value = [&](double x) { return wide ? Argument(x) : Argument(static_cast<float>(x)); };
  kernel.constant(wide ? "double" : "float", "first", value(first));
  kernel.constant(wide ? "double" : "float", "second", value(second));
}

void number_constant(KernelText& kernel, std::string_view name, Scalar number, DType dtype) {
  const Scalar value = core::as_stored(number, dtype);
  const Compute type = compute_of(dtype);
  Argument argument;
  if (dtype == DType::boolean) {
    argument = std::int32_t{value.as_double() != 0};
  } else if (type == Compute::i32) {
    argument = static_cast<std::int32_t>(value.as_int());
  } else if (!is_floating(type)) {
    argument = static_cast<std::int64_t>(value.as_unsigned());
  } else if (type == Compute::f32) {
    argument = static_cast<float>(value.as_double());
  } else {
    argument = value.as_double();
  }
  kernel.constant(type_name(type), name, argument);
}

/// The function that draws from an operator's distribution, before it is scaled and moved.
const char* distribution_of(OpId op) {
  switch (op) {
    case OpId::random_uniform: return "uniform_";
    case OpId::random_normal: return "normal_";
    case OpId::random_exponential: return "exponential_";
    default: return "truncated_normal_";
  }
}

std::int64_t saturated(double x) {
  if (x >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  return x < -0x1p63 ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(x);
}

/// Constants of a distribution, mostly two numbers.
void draw_constants(KernelText& kernel, const core::LoopInstruction& step, const core::RandomAttributes& draw) {
  const bool wide = step.dtype == DType::f64 && step.op != OpId::random_bernoulli;
  kernel.constant("long", "draw", draw.draw);
  switch (step.op) {
    case OpId::random_integers: {
      const std::int64_t low = saturated(draw.first), high = saturated(draw.second);
      kernel.constant("long", "first", low);
      kernel.constant("long", "second",
                      static_cast<std::int64_t>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low)));
      break;
    }
    case OpId::random_gamma: {
      const bool is_small = draw.first < 1.0;
      const double d = (is_small ? draw.first + 1.0 : draw.first) - 1.0 / 3.0;
      real_constants(kernel, true, d, draw.second);
      kernel.constant("double", "slope", Argument(1.0 / std::sqrt(9.0 * d)));
      kernel.constant("double", "boost", Argument(is_small ? 1.0 / draw.first : 0.0));
      break;
    }
    case OpId::random_exponential: real_constants(kernel, wide, 0.0, -1.0 / draw.first); break;
    case OpId::random_uniform: real_constants(kernel, wide, draw.first, draw.second - draw.first); break;
    default: real_constants(kernel, wide, draw.first, draw.second);
  }
}

/// Constants of an operator that makes numbers.
void numbers_constants(KernelText& kernel, const core::LoopInstruction& step, const core::Attributes& attributes,
                       bool has_f64) {
  if (const auto* draw = std::get_if<core::RandomAttributes>(&attributes)) {
    draw_constants(kernel, step, *draw);
    return;
  }
  const auto& range = std::get<core::RangeAttributes>(attributes);
  if (step.op == OpId::fill) {
    number_constant(kernel, "first", range.start, step.dtype);
  } else if (step.op == OpId::eye) {
    kernel.constant("long", "first", range.start.as_int());
    kernel.constant("long", "width", std::max<std::int64_t>(range.shape.back(), 1));
  } else if (is_integral(range, step.dtype)) {
    kernel.constant("long", "first", static_cast<std::int64_t>(range.start.as_unsigned()));
    kernel.constant("long", "second", static_cast<std::int64_t>(range.step.as_unsigned()));
  } else {
    real_constants(kernel, has_f64, range.start.as_double(), range.step.as_double());
  }
}

}  // namespace

ElementBody::ElementBody(const Context& context, const NamedLoop& loop)
    : context_(context),
      loop_(loop),
      program_(loop.program()),
      types_(core::value_types(program_, loop.bound.input_types())) {
  // The key of a draw is the only input of what makes numbers.
  raw_.assign(program_.inputs, loop.numbers != nullptr);
  exact_.assign(types_.size(), false);
  for (std::size_t v = program_.first_instruction(); v < program_.values() && loop.numbers == nullptr; ++v) {
    for (const core::LoopValue operand : program_.operands_of(v)) exact_[operand] = true;
  }
  // A value stored as one type while it was computed as another has to be rounded first, too.
  const std::vector<core::Operand>& outputs = loop.bound.outputs;
  for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
    const core::LoopValue value = program_.outputs[i];
    const bool goes_on = i >= outputs.size();
    if (goes_on || outputs[i].dtype != types_[value]) exact_[value] = true;
  }
}

void ElementBody::declare(KernelText& kernel) const {
  if (loop_.numbers != nullptr) numbers_constants(kernel, program_.instructions[0], *loop_.numbers, context_.has_f64);
  for (std::size_t v = program_.inputs; v < program_.first_instruction(); ++v) {
    number_constant(kernel, text("number", v), program_.constants[v - program_.inputs].value, types_[v]);
    kernel.line(
        text("  const ", type_name(compute_of(types_[v])), " v", v, " = ", narrow(types_[v], text("number", v)), ";"));
  }
}

std::string ElementBody::load_input(std::size_t i, std::string_view at) const {
  return text("const ", type_name(compute_of(types_[i])), " v", i, " = ", load(types_[i], text("in", i), at), ";");
}

std::string ElementBody::store_output(std::size_t i, std::string_view at) const {
  const std::size_t value = program_.outputs[i];
  const DType type = loop_.bound.outputs[i].dtype;
  return store(type, text("out", i), at, convert(types_[value], type, text("v", value)));
}

std::string ElementBody::step(std::size_t value, std::string_view index) const {
  return text("const ", type_name(compute_of(types_[value])), " v", value, " = ", expression(value, index), ";");
}

std::string ElementBody::expression(std::size_t value, std::string_view index) const {
  const core::LoopInstruction& step = program_.instruction_of(value);
  if (loop_.numbers != nullptr) {
    return program_.inputs == 0 ? number(step, index) : draw(step, exact_[value], index);
  }
  std::vector<DType> types;
  std::vector<std::string> values;
  for (const core::LoopValue operand : program_.operands_of(value)) {
    types.push_back(types_[operand]);
    values.push_back(text("v", operand));
  }
  if (step.op == OpId::cast) return convert(types[0], step.dtype, values[0]);
  return apply(step.op, step.dtype, types, values, exact_[value]);
}

std::string ElementBody::number(const core::LoopInstruction& step, std::string_view index) const {
  if (step.op == OpId::fill) return narrow(step.dtype, "first");
  if (step.op == OpId::eye) {
    const std::string diagonal = text("(int)(", index, " % width - ", index, " / width == first)");
    return convert(DType::boolean, step.dtype, diagonal);
  }
  if (is_integral(std::get<core::RangeAttributes>(*loop_.numbers), step.dtype)) {
    return convert(DType::i64, step.dtype, text("(long)((ulong)first + (ulong)", index, " * (ulong)second)"));
  }
  const DType wide = context_.has_f64 ? DType::f64 : DType::f32;
  return convert(wide, step.dtype, text("(first + ", index, " * second)"));
}

std::string ElementBody::draw(const core::LoopInstruction& step, bool exact, std::string_view index) const {
  const std::string key = text("(ulong)", index, ", (ulong)(in0[1] + draw), (ulong)in0[0]");
  if (step.op == OpId::random_bernoulli) {
    return convert(DType::boolean, step.dtype, text("(int)(uniform_f32(", key, ") < first)"));
  }
  if (step.op == OpId::random_integers) {
    return convert(DType::i64, step.dtype,
                   text("(long)((ulong)first + (ulong)integer_below(", key, ", (ulong)second))"));
  }
  if (step.op == OpId::random_gamma) {
    return convert(DType::f64, step.dtype, text("(second * gamma_f64(", key, ", first, slope, boost))"));
  }
  const std::string drawn =
      text("(first + second * ", distribution_of(step.op), suffix(compute_of(step.dtype)), "(", key, "))");
  return exact ? narrow(step.dtype, drawn) : drawn;
}

}  // namespace tyto::opencl
