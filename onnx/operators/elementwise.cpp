// SPDX-License-Identifier: MIT
// Element-wise arithmetic, comparisons, logic and casts.
#include "tyto/elementwise.hpp"

#include <limits>

#include "onnx/file/element_types.hpp"
#include "onnx/file/small_floats.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Outputs unary(const OperatorCall& call) { return {call.function().unary(call[0])}; }
Outputs binary(const OperatorCall& call) { return {call.function().binary(call[0], call[1])}; }

/// Any number of operands, one at least.
Outputs variadic(const OperatorCall& call) {
  Array result = call[0];
  for (std::size_t i = 1; i < call.input_count(); ++i) result = call.function().binary(result, call[i]);
  return {result};
}

Array in_type(const Array& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

// Integers are divided towards zero; Tyto's floor_divide goes down, and its divide leaves the integers.
Outputs divide_as_typed(const OperatorCall& call) {
  const Array &a = call[0], &b = call[1];
  if (!is_integer(a.dtype())) return {a / b};
  const Array down = floor_divide(a, b);
  const Array rest = a - down * b;
  return {in_type(where((rest != 0) && (less(a, 0) != less(b, 0)), down + 1, down), a.dtype())};
}

Outputs modulo(const OperatorCall& call) {
  return {call.integer("fmod", 0) != 0 ? fmod(call[0], call[1]) : remainder(call[0], call[1])};
}

// The result has the base's type, whatever that of the exponent.
Outputs power_of_base(const OperatorCall& call) {
  const Array &base = call[0], &exponent = call[1];
  const DType type = base.dtype();
  if (exponent.dtype() == type) return {power(base, exponent)};
  return {in_type(power(base, exponent), type)};
}

Outputs sum_or_mean(const OperatorCall& call) {
  Array total = halves_in_f32(call[0]);
  for (std::size_t i = 1; i < call.input_count(); ++i) total = total + call[i];
  return {cast(call.name() == "Sum" ? total : total / static_cast<double>(call.input_count()), call[0].dtype())};
}

Outputs shift(const OperatorCall& call) {
  const std::string_view direction = call.text("direction", "");
  if (direction == "LEFT") return {left_shift(call[0], call[1])};
  if (direction == "RIGHT") return {right_shift(call[0], call[1])};
  call.refuse("direction '", direction, "'; known are LEFT and RIGHT");
}

Outputs is_infinite(const OperatorCall& call) {
  const bool negative = call.integer("detect_negative", 1) != 0, positive = call.integer("detect_positive", 1) != 0;
  const Array& x = call[0];
  if (negative && positive) return {isinf(x)};
  if (negative) return {isinf(x) && less(x, 0)};
  if (positive) return {isinf(x) && greater(x, 0)};
  return {zeros_like(in_type(x, DType::boolean))};
}

Outputs select(const OperatorCall& call) { return {where(call[0], call[1], call[2])}; }

Outputs limited(const Array& x, const Array& low, const Array& high) {
  Array y = x;
  if (low.defined()) y = maximum(y, low);
  if (high.defined()) y = minimum(y, high);
  return {y};
}

// Where both limits are scalar constants, one operator does it.
Outputs clip_by_attributes(const OperatorCall& call) {
  return {clip(call[0], call.number("min", std::numeric_limits<float>::lowest()),
               call.number("max", std::numeric_limits<float>::max()))};
}
Outputs clip_by_inputs(const OperatorCall& call) {
  for (const std::size_t bound : {std::size_t{1}, std::size_t{2}}) {
    if (!call.has(bound) || call[bound].size() == 1) continue;
    call.refuse("input ", bound + 1, " has ", call[bound].size(), " elements, expected one");
  }
  if (call.known(1) && call.known(2) && is_floating(call[0].dtype())) {
    const double low = call.number_in(1), high = call.number_in(2);
    if (low <= high) return {clip(call[0], low, high)};
  }
  return limited(call[0], call.optional(1), call.optional(2));
}

Operand typed(const Array& x, std::int64_t element_type) {
  Operand result(x);
  result.element_type = element_type;
  return result;
}

// Integers of `bits` bits, held in 8: what is cut off leaves the lowest bits, as casts between C++'s integers do.
Array in_bits(const Array& x, DType dtype, int bits) {
  const std::int64_t sign = dtype == DType::i8 ? std::int64_t{1} << (bits - 1) : 0;
  const Array low = bitwise_and(cast(x, DType::i32), Array::full({}, (std::int64_t{1} << bits) - 1, DType::i32));
  const Array number = sign == 0 ? low : bitwise_xor(low, Array::full({}, sign, DType::i32)) - sign;
  return cast(number, dtype);
}

RoundingMode rounding_mode(const OperatorCall& call) {
  const std::string_view mode = call.text("round_mode", "up");
  if (mode == "up") return RoundingMode::up;
  if (mode == "down") return RoundingMode::down;
  if (mode == "nearest") return RoundingMode::nearest;
  call.refuse("round_mode '", mode, "'; known are up, down and nearest");
}

Operand as_stated(const OperatorCall& call, std::int64_t element_type) {
  const bool saturate = call.integer("saturate", 1) != 0;
  const RoundingMode mode = rounding_mode(call);
  const Array& x = call[0];
  const std::optional<DType> dtype = dtype_from(element_type);
  if (call.is_text(0) && element_type == text_type) return call.operand(0);
  if (!dtype || call.is_text(0) || element_type == text_type) {
    call.refuse("casts ", element_type_name(call.is_text(0) ? text_type : element_type_of(x.dtype())), " to ",
                element_type_name(element_type), ", which Tyto has not");
  }
  if (const SmallFloat* format = small_float(element_type); format != nullptr) {
    return typed(rounded_to(*format, x, *dtype, saturate, format->has_sign ? RoundingMode::nearest : mode),
                 element_type);
  }
  if (const int bits = packed_bits(element_type); bits != 0) return typed(in_bits(x, *dtype, bits), element_type);
  return typed(in_type(x, *dtype), element_type);
}

// As C++ does it: floating-point numbers are cut off, and bool asks for what is not zero.
Outputs cast_to(const OperatorCall& call) { return {as_stated(call, call.integer("to"))}; }
Outputs cast_like(const OperatorCall& call) {
  return {as_stated(call, call.element_type(1) != 0 ? call.element_type(1) : element_type_of(call[1].dtype()))};
}

// The same bits under another type of the same width; there is no operator for it, so the elements must be known.
Outputs reinterpreted(const OperatorCall& call) {
  const std::int64_t type = call.integer("to");
  const std::optional<DType> dtype = dtype_from(type);
  const Array& x = call[0];
  if (call.bits(0) != 0 || is_storage_type(type) || !dtype || size_of(*dtype) != size_of(x.dtype())) {
    call.refuse("bits of ", name_of(x.dtype()), " as ", element_type_name(type));
  }
  call.require_known(0);
  return {typed(Array::from_bytes(x.bytes().data(), x.size(), x.shape(), *dtype), type)};
}

Outputs identity(const OperatorCall& call) { return {call.operand(0)}; }

Outputs dropout(const OperatorCall& call, double ratio, bool training) {
  const Array& x = call[0];
  if (!training || ratio == 0) {
    Outputs outputs{x};
    if (call.wants(1)) outputs.push_back(cast(ones_like(x), DType::boolean));
    return outputs;
  }
  const BernoulliOptions options{.probability = 1 - ratio};
  const Array kept = call.lazy() ? Array(Tensor<Lazy>::bernoulli(x.shape(), options).value())
                                 : Array(Tensor<Eager>::bernoulli(x.shape(), options).value());
  return {where(kept, x / (1 - ratio), 0.0), kept};
}
Outputs dropout_by_attributes(const OperatorCall& call) {
  call.ignore("is_test");
  call.ignore("ratio");
  call.ignore("seed");
  // The second output of these versions is of the input's type, and nobody defined it for inference.
  Outputs outputs{call[0]};
  if (call.wants(1))
    outputs.push_back(call.version() < 10 ? ones_like(call[0]) : cast(ones_like(call[0]), DType::boolean));
  return outputs;
}
Outputs dropout_by_inputs(const OperatorCall& call) {
  call.ignore("seed");
  // Whether it is training, and how much is dropped, may come with the data.
  if ((call.has(2) && !call.known(2)) || (call.has(1) && !call.known(1) && call.has(2) && call.integer_in(2) != 0)) {
    const Array& x = call[0];
    const Array training = cast(reshape(call[2], {}), DType::boolean);
    const Array ratio = call.has(1) ? cast(reshape(call[1], {}), DType::f32) : Array::full({}, 0.5, DType::f32);
    const Array drawn = call.lazy() ? Array(Tensor<Lazy>::uniform(x.shape()).value())
                                    : Array(Tensor<Eager>::uniform(x.shape()).value());
    const Array kept = logical_or(greater_equal(drawn, ratio), logical_not(training));
    return {where(training, where(kept, x / cast(1 - ratio, x.dtype()), 0.0), x), kept};
  }
  const bool training = call.has(2) && call.integer_in(2) != 0;
  return dropout(call, training && call.has(1) ? call.number_in(1) : 0.5, training);
}

constexpr OperatorRow elementwise_table[] = {
    {"Abs", 6, unary, abs},
    {"Acos", 7, unary, acos},
    {"Acosh", 9, unary, acosh},
    {"Add", 7, binary, add},
    {"And", 7, binary, logical_and},
    {"Asin", 7, unary, asin},
    {"Asinh", 9, unary, asinh},
    {"Atan", 7, unary, atan},
    {"Atanh", 9, unary, atanh},
    {"BitCast", 26, reinterpreted},
    {"BitShift", 11, shift},
    {"BitwiseAnd", 18, binary, bitwise_and},
    {"BitwiseNot", 18, unary, bitwise_not},
    {"BitwiseOr", 18, binary, bitwise_or},
    {"BitwiseXor", 18, binary, bitwise_xor},
    {"Cast", 6, cast_to},
    {"CastLike", 15, cast_like},
    {"Ceil", 6, unary, ceil},
    {"Clip", 6, clip_by_attributes},
    {"Clip", 11, clip_by_inputs},
    {"Cos", 7, unary, cos},
    {"Cosh", 9, unary, cosh},
    {"Div", 7, divide_as_typed},
    {"Dropout", 1, dropout_by_attributes},
    {"Dropout", 12, dropout_by_inputs},
    {"Equal", 7, binary, equal},
    {"Erf", 9, unary, erf},
    {"Exp", 6, unary, exp},
    {"Floor", 6, unary, floor},
    {"Greater", 7, binary, greater},
    {"GreaterOrEqual", 12, binary, greater_equal},
    {"Identity", 1, identity},
    {"IsInf", 10, is_infinite},
    {"IsNaN", 9, unary, isnan},
    {"Less", 7, binary, less},
    {"LessOrEqual", 12, binary, less_equal},
    {"Log", 6, unary, log},
    {"Max", 6, variadic, maximum},
    {"Mean", 6, sum_or_mean},
    {"Min", 6, variadic, minimum},
    {"Mod", 10, modulo},
    {"Mul", 7, binary, multiply},
    {"Neg", 6, unary, negate},
    {"Not", 1, unary, logical_not},
    {"Or", 7, binary, logical_or},
    {"Pow", 7, power_of_base},
    {"Reciprocal", 6, unary, reciprocal},
    {"Round", 11, unary, round},
    {"Sign", 9, unary, sign},
    {"Sin", 7, unary, sin},
    {"Sinh", 9, unary, sinh},
    {"Sqrt", 6, unary, sqrt},
    {"Sub", 7, binary, subtract},
    {"Sum", 6, sum_or_mean},
    {"Tan", 7, unary, tan},
    {"Tanh", 6, unary, tanh},
    {"Where", 9, select},
    {"Xor", 7, binary, logical_xor},
};

}  // namespace

std::span<const OperatorRow> elementwise_rows() { return elementwise_table; }

}  // namespace tyto::onnx
