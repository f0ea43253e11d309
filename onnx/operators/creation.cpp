// SPDX-License-Identifier: MIT
// Operators that create tensors: constants, ranges, random numbers.
#include <cmath>

#include "onnx/file/element_types.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

DType dtype_named(const OperatorCall& call, const char* attribute, DType otherwise) {
  const std::int64_t type = call.integer(attribute, element_type_of(otherwise));
  const std::optional<DType> dtype = computed_dtype_from(type);
  if (!dtype) call.refuse("elements of type ", element_type_name(type), ", which Tyto has not");
  return *dtype;
}

Outputs constant(const OperatorCall& call) {
  const auto vector = [](const auto& values) {
    return Array::from(values, {static_cast<std::int64_t>(values.size())});
  };
  if (call.has("value")) return {call.stored_tensor("value")};
  if (call.has("value_int")) return {Array::full({}, call.integer("value_int"), DType::i64)};
  if (call.has("value_float")) return {Array::full({}, call.number("value_float", 0), DType::f32)};
  if (call.has("value_ints")) return {vector(call.integers("value_ints"))};
  if (call.has("value_floats")) return {cast(vector(call.numbers("value_floats")), DType::f32)};
  const auto words = [&](const std::vector<std::string>& list, const Shape& shape) {
    std::vector<std::int64_t> codes;
    for (const std::string& word : list) codes.push_back(call.code_of(word));
    Operand text(Array::from(codes, shape));
    text.element_type = text_type;
    return text;
  };
  if (call.has("value_string")) return {words({std::string(call.text("value_string", ""))}, {})};
  if (call.has("value_strings")) {
    const std::vector<std::string> list = call.texts("value_strings");
    return {words(list, {std::ssize(list)})};
  }
  call.refuse("only tensors, numbers and text are read, no sparse tensors");
}

Outputs constant_of_shape(const OperatorCall& call) {
  const std::vector<std::int64_t> lengths = call.integers_in(0);
  const Operand value = call.has("value") ? call.tensor("value") : Operand(Array::full({}, 0.0, DType::f32));
  return {value.with_tensor(broadcast_to(reshape(value.tensor, {}), Shape(std::span(lengths))), false)};
}

Outputs range(const OperatorCall& call) {
  if (call.version() >= 27) call.ignore("stash_type");  // numbers are counted in f64 or as integers in any case
  const DType dtype = call[0].dtype();
  if (is_floating(dtype)) return {Array::arange(call.number_in(0), call.number_in(1), call.number_in(2), dtype)};
  return {Array::arange(call.integer_in(0), call.integer_in(1), call.integer_in(2), dtype)};
}

Outputs eye_like(const OperatorCall& call) {
  const Shape& shape = call[0].shape();
  if (shape.size() != 2) call.refuse("shape ", shape, "; expected a matrix");
  return {Array::eye(shape[0], shape[1], call.integer("k", 0), dtype_named(call, "dtype", call[0].dtype()))};
}

// Random numbers: drawn anew in each call, in lazy mode by the graph. A seed in the file starts a sequence of its own.

std::optional<Key> key_of(const OperatorCall& call) {
  if (!call.has("seed")) return std::nullopt;
  const double seed = call.number("seed", 0);
  if (!(std::abs(seed) < 0x1p63)) call.refuse("seed ", seed, "; it must be a number of 64 bits");
  return Key{static_cast<std::uint64_t>(static_cast<std::int64_t>(seed)), 0};
}

template <class M>
Array normal_numbers(const Shape& shape, const NormalOptions& options) {
  return Array(Tensor<M>::normal(shape, options).value());
}
Outputs normal_of(const OperatorCall& call, const Shape& shape, DType otherwise) {
  const NormalOptions options{call.number("mean", 0), call.number("scale", 1), dtype_named(call, "dtype", otherwise),
                              key_of(call)};
  return {call.lazy() ? normal_numbers<Lazy>(shape, options) : normal_numbers<Eager>(shape, options)};
}
template <class M>
Array uniform_numbers(const Shape& shape, const UniformOptions& options) {
  return Array(Tensor<M>::uniform(shape, options).value());
}
Outputs uniform_of(const OperatorCall& call, const Shape& shape, DType otherwise) {
  const UniformOptions options{call.number("low", 0), call.number("high", 1), dtype_named(call, "dtype", otherwise),
                               key_of(call)};
  return {call.lazy() ? uniform_numbers<Lazy>(shape, options) : uniform_numbers<Eager>(shape, options)};
}

Shape stated_shape(const OperatorCall& call) {
  const std::vector<std::int64_t>& lengths = call.integers("shape");
  return Shape(std::span(lengths));
}
DType floating_like(const Array& x) { return is_floating(x.dtype()) ? x.dtype() : DType::f32; }

Outputs random_normal(const OperatorCall& call) { return normal_of(call, stated_shape(call), DType::f32); }
Outputs random_normal_like(const OperatorCall& call) {
  return normal_of(call, call[0].shape(), floating_like(call[0]));
}
Outputs random_uniform(const OperatorCall& call) { return uniform_of(call, stated_shape(call), DType::f32); }
Outputs random_uniform_like(const OperatorCall& call) {
  return uniform_of(call, call[0].shape(), floating_like(call[0]));
}

Outputs bernoulli(const OperatorCall& call) {
  const Array& probability = call[0];
  const UniformOptions options{0, 1, floating_like(probability), key_of(call)};
  const Array drawn = call.lazy() ? uniform_numbers<Lazy>(probability.shape(), options)
                                  : uniform_numbers<Eager>(probability.shape(), options);
  return {cast(less(drawn, probability), dtype_named(call, "dtype", probability.dtype()))};
}

Outputs multinomial(const OperatorCall& call) {
  const std::int64_t count = call.integer("sample_size", 1);
  const DType dtype = dtype_named(call, "dtype", DType::i32);
  return {cast(categorical(call[0], count, DrawOptions{key_of(call)}), dtype)};
}

constexpr OperatorRow creation_table[] = {
    {"Bernoulli", 15, bernoulli},
    {"Constant", 1, constant},
    {"ConstantOfShape", 9, constant_of_shape},
    {"EyeLike", 9, eye_like},
    {"Multinomial", 7, multinomial},
    {"RandomNormal", 1, random_normal},
    {"RandomNormalLike", 1, random_normal_like},
    {"RandomUniform", 1, random_uniform},
    {"RandomUniformLike", 1, random_uniform_like},
    {"Range", 11, range},
};

}  // namespace

std::span<const OperatorRow> creation_rows() { return creation_table; }

}  // namespace tyto::onnx
