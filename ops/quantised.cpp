// SPDX-License-Identifier: MIT
// The product with weights of few bits: integers in blocks along each row, each block with a scale and a zero point.
//
// Weight (n, k) is (q - z) * s, in the type of sums: f32, and f64 of f64. The result is rounded to its type once.
#include <bit>

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/quantisation.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

constexpr std::string_view product_name = "quantised_matmul";
constexpr std::int64_t least_block = least_quantised_block, largest_block = largest_quantised_block;

void check_bits(std::string_view op, std::int64_t bits) {
  if (bits != 2 && bits != 4 && bits != 8) throw_error<ValueError>(op, ": ", bits, " bits; 2, 4 or 8 are expected");
}
void check_block(std::string_view op, std::int64_t block) {
  if (block >= least_block && block <= largest_block && std::has_single_bit(static_cast<std::uint64_t>(block))) return;
  throw_error<ValueError>(op, ": blocks of ", block, " numbers; a power of two from ", least_block, " to ",
                          largest_block, " is expected");
}
std::int64_t blocks_of(std::int64_t columns, std::int64_t block) {
  return columns / block + (columns % block != 0 ? 1 : 0);
}

/// Checks the weights of `columns` columns, of which `zero` may be null.
void check_weights(std::string_view op, std::int64_t bits, std::int64_t columns, const TensorType& numbers,
                   const TensorType& scales, const TensorType* zero) {
  check_bits(op, bits);
  if (numbers.dtype != DType::u8) {
    throw_error<TypeError>(op, ": the weights' numbers are ", numbers.dtype, "; u8 is expected");
  }
  if (numbers.shape.size() != 3) {
    throw_error<ShapeError>(op, ": the weights' numbers are ", numbers.shape, "; (n, blocks, bytes) is expected");
  }
  const std::int64_t rows = numbers.shape[0], blocks = numbers.shape[1];
  const std::int64_t bytes = numbers.shape[2];
  if (bytes > largest_block) {
    throw_error<ValueError>(op, ": blocks of ", bytes, " bytes; at most ", largest_block, " numbers are expected");
  }
  const std::int64_t block = bytes * (8 / bits);
  check_block(op, block);
  if (blocks != blocks_of(columns, block)) {
    throw_error<ShapeError>(op, ": ", columns, " columns are ", blocks_of(columns, block), " blocks of ", block,
                            " numbers; given are ", blocks);
  }
  const Shape by_block{rows, blocks};
  if (!is_floating(scales.dtype)) {
    throw_error<TypeError>(op, ": the scales are ", scales.dtype, "; a floating type is expected");
  }
  if (scales.shape != by_block) {
    throw_error<ShapeError>(op, ": the scales are ", scales.shape, "; ", by_block, " is expected");
  }
  if (zero == nullptr) return;
  if (zero->dtype != DType::u8 && zero->dtype != scales.dtype) {
    throw_error<TypeError>(op, ": the zero points are ", zero->dtype, "; u8 or ", scales.dtype, " is expected");
  }
  const Shape expected = zero->dtype == DType::u8 ? Shape{rows, blocks_of(blocks, 8 / bits)} : by_block;
  if (zero->shape != expected) {
    throw_error<ShapeError>(op, ": the ", zero->dtype, " zero points are ", zero->shape, "; ", expected,
                            " is expected");
  }
}

std::vector<TensorType> infer_product(const Attributes& attributes, std::span<const TensorType> inputs) {
  const TensorType& a = inputs[0];
  if (!is_floating(a.dtype) || inputs[2].dtype != a.dtype) {
    throw_error<TypeError>(product_name, ": rows and scales must be of one floating type, not ", a.dtype, " and ",
                           inputs[2].dtype);
  }
  if (a.shape.size() != 2) throw_error<ShapeError>(product_name, ": ", a.shape, " is no matrix of rows");
  check_weights(product_name, get<QuantisationAttributes>(attributes).bits, a.shape[1], inputs[1], inputs[2],
                inputs.size() > 3 ? &inputs[3] : nullptr);
  return one(a.dtype, {a.shape[0], inputs[1].shape[0]});
}

/// The numbers of `bits` bits along the last axis, one a byte.
T unpacked(const T& bytes, std::int64_t bits) {
  if (bits == 8) return bytes;
  const T shifts = T::arange(0, 8, bits, DType::u8), mask = T::full({}, (std::int64_t{1} << bits) - 1, DType::u8);
  Shape shape = bytes.shape();
  shape[shape.size() - 1] *= 8 / bits;
  return reshape(bitwise_and(right_shift(expand_dims(bytes, -1), shifts), mask), shape);
}

T packed(const T& numbers, std::int64_t bits) {
  if (bits == 8) return numbers;
  Shape shape = numbers.shape();
  shape[shape.size() - 1] /= 8 / bits;
  shape.push_back(8 / bits);
  const T apart = left_shift(reshape(numbers, shape), T::arange(0, 8, bits, DType::u8));
  return cast(sum(apart, -1), DType::u8);
}

/// The parts of the weights, in the type of sums.
struct Parts {
  T steps;   // (n, blocks, block): numbers less their zero points
  T scales;  // (n, blocks, 1)

  Parts(std::int64_t bits, const Value& numbers, const Value& given_scales, const Value& zero) {
    const DType type = given_scales.dtype() == DType::f64 ? DType::f64 : DType::f32;
    scales = expand_dims(T(cast_to(given_scales, type)), -1);
    const T wide = cast_to(unpacked(T(numbers), bits), type);
    if (!zero) {
      steps = wide - static_cast<double>(std::int64_t{1} << (bits - 1));
      return;
    }
    Value points = zero;
    if (zero.dtype() == DType::u8) points = part_along(unpacked(T(zero), bits), 1, 0, scales.shape()[1]);
    steps = wide - expand_dims(T(cast_to(points, type)), -1);
  }

  T weights(std::int64_t columns) const {
    const Shape& shape = steps.shape();
    return part_along(reshape(steps * scales, {shape[0], shape[1] * shape[2]}), 1, 0, columns);
  }
};

Parts parts_of(const Attributes& attributes, std::span<const Value> inputs) {
  return {get<QuantisationAttributes>(attributes).bits, inputs[1], inputs[2], inputs.size() > 3 ? inputs[3] : Value()};
}

std::vector<Value> lower_product(const Attributes& attributes, std::span<const Value> inputs) {
  const Parts parts = parts_of(attributes, inputs);
  const T a = cast_to(inputs[0], parts.scales.dtype());
  return {cast_to(matmul(a, matrix_transpose(parts.weights(a.shape()[1]))), inputs[0].dtype())};
}

// By rows it is the product with the weights; by scales and zero points sums, over each block, of the gradient by
// weights.
std::vector<Value> product_gradient(const GradientContext& c) {
  const Parts parts = parts_of(c.attributes, c.inputs);
  const DType dtype = c.inputs[0].dtype(), type = parts.scales.dtype();
  const std::int64_t columns = c.inputs[0].shape()[1];
  const T g = cast_to(c.gradients[0], type);
  std::vector<Value> gradients(c.inputs.size());
  if (c.needed[0]) gradients[0] = cast_to(matmul(g, parts.weights(columns)), dtype);
  const bool by_zero = c.inputs.size() > 3 && c.needed[3] && c.inputs[3].dtype() != DType::u8;
  if (!c.needed[2] && !by_zero) return gradients;
  const Shape& shape = parts.steps.shape();
  const T by_weights = matmul(matrix_transpose(g), T(cast_to(c.inputs[0], type)));
  const T by_block = reshape(pad(by_weights, {0, 0}, {0, shape[1] * shape[2] - columns}), shape);
  if (c.needed[2]) gradients[2] = cast_to(sum(by_block * parts.steps, -1), dtype);
  if (by_zero) gradients[3] = cast_to(-sum(by_block * parts.scales, -1), dtype);
  return gradients;
}

}  // namespace

std::span<const OpDef> quantised_operators() {
  static const OpDef rows[] = {
      {.id = OpId::quantised_matmul,
       .doc = "Rows times the transpose of weights of few bits in blocks, each with a scale and a zero point.",
       .min_inputs = 3,
       .max_inputs = 4,
       .traits = traits(Traits::linear),
       .infer = infer_product,
       .gradient = product_gradient,
       .lower = lower_product,
       .sample = [](DType t) -> Value {
         return quantised_matmul(samples::square_matrix(t),
                                 {samples::T::ones({3, 1, 8}, DType::u8), samples::T::ones({3, 1}, t)});
       }},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto TYTO_API {
namespace detail {

namespace {

using core::throw_error;

void check_given(std::string_view op, const QuantisedWeights<Any>& weights, std::int64_t columns) {
  core::require(op, weights.numbers, weights.scales);
  const auto type_of = [](const Tensor<Any>& x) { return core::TensorType{x.dtype(), x.shape(), false}; };
  const Tensor<Any>& zero = weights.zero_points;
  const core::TensorType zero_type = zero.defined() ? type_of(zero) : core::TensorType{};
  core::check_weights(op, weights.bits, columns, type_of(weights.numbers), type_of(weights.scales),
                      zero.defined() ? &zero_type : nullptr);
}

}  // namespace

QuantisedWeights<Any> quantise(const Tensor<Any>& given, const QuantisationOptions& options) {
  constexpr const char* function = "quantise";
  core::require(function, given);
  core::check_bits(function, options.bits);
  core::check_block(function, options.block);
  if (!is_floating(given.dtype())) {
    throw_error<TypeError>(function, ": the weights are ", given.dtype(), "; a floating type is expected");
  }
  if (given.ndim() != 2) throw_error<ShapeError>(function, ": the weights are ", given.shape(), "; (n, k) is expected");
  const std::int64_t rows = given.shape()[0], columns = given.shape()[1], block = options.block;
  const std::int64_t blocks = core::blocks_of(columns, block);
  const double middle = static_cast<double>(std::int64_t{1} << (options.bits - 1));
  if (rows == 0 || columns == 0) {
    return {Tensor<Any>::zeros({rows, blocks, block * options.bits / 8}, DType::u8),
            Tensor<Any>::zeros({rows, blocks}, given.dtype()),
            {},
            options.bits};
  }
  const DType type = given.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor<Any> wide = core::cast_to(given, type);
  const Tensor<Any> apart = reshape(pad(wide, {0, 0}, {0, blocks * block - columns}), {rows, blocks, block});
  const Tensor<Any> most = max(apart, -1, true), least = min(apart, -1, true);
  const Tensor<Any> extreme = where(greater(most, -least), most, least);
  // As it is stored: numbers are rounded by the scale that they will be multiplied by.
  const Tensor<Any> scales = core::cast_to(extreme * (-1 / middle), given.dtype());
  const Tensor<Any> step = core::cast_to(scales, type);
  const Tensor<Any> numbers = round(apart / where(equal(step, 0), 1.0, step)) + middle;
  const Tensor<Any> bytes = core::cast_to(clip(numbers, 0, 2 * middle - 1), DType::u8);
  return {core::packed(bytes, options.bits), squeeze(scales, -1), {}, options.bits};
}

Tensor<Any> dequantise(const QuantisedWeights<Any>& weights, std::int64_t columns) {
  constexpr const char* function = "dequantise";
  if (columns < 0) throw_error<ValueError>(function, ": ", columns, " columns");
  check_given(function, weights, columns);
  const core::Parts parts(weights.bits, weights.numbers, weights.scales, weights.zero_points);
  return core::cast_to(parts.weights(columns), weights.scales.dtype());
}

Tensor<Any> quantised_matmul(const Tensor<Any>& a, const QuantisedWeights<Any>& weights) {
  constexpr std::string_view function = core::product_name;
  core::require(function, a);
  if (!is_floating(a.dtype())) {
    throw_error<TypeError>(function, ": the rows are ", a.dtype(), "; a floating type is expected");
  }
  if (a.ndim() == 0) throw_error<ShapeError>(function, ": the left operand needs at least one axis");
  const std::int64_t columns = a.shape().back();
  check_given(function, weights, columns);
  const Value floating[] = {a.value(), weights.scales.value()};
  const DType dtype = core::common_type(floating);
  Shape shape = a.shape();
  shape.pop_back();
  const std::int64_t rows = element_count(shape);
  shape.push_back(weights.numbers.shape()[0]);
  const auto in_type = [&](const Tensor<Any>& x) { return Tensor<Any>(core::cast_to(x, dtype)); };
  std::vector<Value> inputs{reshape(in_type(a), {rows, columns}), weights.numbers, in_type(weights.scales)};
  const Tensor<Any>& zero = weights.zero_points;
  if (zero.defined()) inputs.push_back(zero.dtype() == DType::u8 ? zero : in_type(zero));
  const Tensor<Any> y(core::emit(core::OpId::quantised_matmul, core::QuantisationAttributes{weights.bits}, inputs));
  return reshape(y, shape);
}

}  // namespace detail
}  // namespace TYTO_API
