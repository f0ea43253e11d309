// SPDX-License-Identifier: MIT
// Operators of ONNX Runtime's own domain on numbers of 8 bits and fewer: dequantised, computed in floating point, and
// rounded to integers again.
#include <bit>

#include "onnx/operators/quantisation.hpp"
#include "onnx/operators/windows.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/activations.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/quantisation.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

// Inputs of two quantised numbers in a row: x, scale, zero point, twice; then those of the result.
Outputs quantised_pair(const OperatorCall& call) {
  const Array y = call.function().binary(dequantised(call[0], call[1], call.optional(2)),
                                         dequantised(call[3], call[4], call.optional(5)));
  const DType dtype = call[0].dtype();
  return {quantised(y, call[6], call.optional(7), dtype)};
}

Outputs quantised_one(const OperatorCall& call, Array (*f)(const OperatorCall&, const Array&)) {
  const Array y = f(call, dequantised(call[0], call[1], call.optional(2)));
  return {quantised(y, call[3], call.optional(4), call[0].dtype())};
}
Outputs quantised_sigmoid(const OperatorCall& call) {
  return quantised_one(call, [](const OperatorCall&, const Array& x) { return sigmoid(x); });
}
Outputs quantised_leaky_relu(const OperatorCall& call) {
  return quantised_one(call,
                       [](const OperatorCall& c, const Array& x) { return leaky_relu(x, c.number("alpha", 0.01)); });
}
Outputs quantised_global_mean(const OperatorCall& call) {
  const bool last = call.integer("channels_last", 0) != 0;
  const Array x = dequantised(call[0], call[1], call.optional(2));
  IntList axes;
  for (std::int64_t i = last ? 1 : 2; i < x.ndim() - (last ? 1 : 0); ++i) axes.push_back(i);
  return {quantised(mean(x, axes, true), call[3], call.optional(4), call[0].dtype())};
}
Outputs quantised_concat(const OperatorCall& call) {
  std::vector<Array> parts;
  for (std::size_t i = 2; i + 2 < call.input_count(); i += 3) {
    parts.push_back(dequantised(call[i], call[i + 1], call.optional(i + 2)));
  }
  return {quantised(concat(parts, call.integer("axis")), call[0], call[1], call[1].dtype())};
}

// With channels at the end the windows are those of the axes between.
Outputs quantised_window_means(const OperatorCall& call) {
  const bool last = call.integer("channels_last", 0) != 0;
  const Array x = dequantised(call[0], call[1], call.optional(2));
  const Array y = window_means(call, last ? moveaxis(x, -1, 1) : x);
  return {quantised(last ? moveaxis(y, 1, -1) : y, call[3], call.optional(4), call[0].dtype())};
}

// Before version 13 of the standard all axes from `axis` on counted as one.
Outputs quantised_softmax(const OperatorCall& call) {
  const Array x = dequantised(call[0], call[1], call.optional(2));
  const bool as_matrix = call.integer("opset") < 13;
  std::int64_t axis = call.integer("axis", as_matrix ? 1 : -1);
  if (axis < 0) axis += x.ndim();
  if (axis < 0 || axis >= x.ndim()) call.refuse("axis ", axis, " of shape ", x.shape());
  Array y = x;
  if (as_matrix) {
    std::int64_t rows = 1;
    for (std::int64_t i = 0; i < axis; ++i) rows *= axis_length(x, static_cast<std::size_t>(i));
    y = reshape(softmax(reshape(x, {rows, -1}), 1), x.shape());
  } else {
    y = softmax(x, axis);
  }
  return {quantised(y, call[3], call.optional(4), call[0].dtype())};
}

Outputs quantised_choice(const OperatorCall& call) {
  const Array x = dequantised(call[1], call[2], call.optional(3)), y = dequantised(call[4], call[5], call.optional(6));
  return {quantised(where(call[0], x, y), call[7], call.optional(8), call[1].dtype())};
}

// The input is quantised on the way, by its own range, and the product is a floating-point number again.
Outputs product_quantised_on_the_way(const OperatorCall& call) {
  const QuantisedByRange x = quantised_by_range(call[0]);
  const Array sums = integer_product(x.bytes, byte_weights(call, 1), x.zero_point, call.optional(3));
  const Array y = cast(sums, DType::f32) * (x.scale * call[2]);
  return {call.has(4) ? y + call[4] : y};
}
Outputs product_to_float(const OperatorCall& call) {
  if (call[2].size() != 1) call.refuse("scales of shape ", call[2].shape(), " of the left operand; one is expected");
  const Array sums = integer_product(call[0], byte_weights(call, 1), call.optional(4), call.optional(5));
  // f16 holds neither the sums nor many a product of scales.
  const Array scale = cast(reshape(call[2], {}), DType::f32) * cast(call[3], DType::f32);
  const Array y = cast(cast(sums, DType::f32) * scale, call[2].dtype());
  return {call.has(6) ? y + call[6] : y};
}

// The bias is an integer in steps of the product; without a scale of its own the result is a floating-point number.
Outputs quantised_general_product(const OperatorCall& call) {
  const bool transpose_a = call.integer("transA", 0) != 0, transpose_b = call.integer("transB", 0) != 0;
  const Array a = transpose_a ? matrix_transpose(call[0]) : call[0], weights = byte_weights(call, 3),
              b = transpose_b ? matrix_transpose(weights) : weights;
  if (a.ndim() != 2 || b.ndim() != 2) call.refuse("factors of shapes ", a.shape(), " and ", b.shape());
  Array total = cast(integer_product(a, b, call.optional(2), call.optional(5)), DType::i32);
  if (call.has(6)) total = total + call[6];
  const Array scale = call[1] * call[4] * call.number("alpha", 1);
  const Array y = cast(total, DType::f32) * scale;
  if (!call.has(7)) return {y};
  return {quantised(y, call[7], call.optional(8), call[0].dtype())};
}

// Numbers of `bits` bits in the bytes of the last axis, from the lowest bits on.
Array unpacked_numbers(const Array& bytes, std::int64_t bits) {
  if (bits == 8) return bytes;
  const Array mask = Array::full({}, (std::int64_t{1} << bits) - 1, DType::u8);
  std::vector<Array> parts;
  for (std::int64_t at = 0; at < 8; at += bits) {
    parts.push_back(bitwise_and(right_shift(bytes, Array::full({}, at, DType::u8)), mask));
  }
  Shape shape = bytes.shape();
  shape[shape.size() - 1] = -1;
  return reshape(stack(parts, -1), shape);
}

std::int64_t bits_of(const OperatorCall& call, std::int64_t otherwise) {
  const std::int64_t bits = call.integer("bits", otherwise);
  if (bits != 2 && bits != 4 && bits != 8) call.refuse(bits, " bits; known are 2, 4 and 8");
  return bits;
}

// Blocks of a size that the product does not take, or by number: a scale and a zero point for each weight.
Array weights_spread(const OperatorCall& call, std::int64_t rows, std::int64_t columns, std::int64_t block,
                     std::int64_t blocks, std::int64_t bits) {
  const DType type = call[2].dtype();
  const Array scale = reshape(call[2], {rows, blocks});
  Array zero = Array::full({rows, blocks}, static_cast<double>(std::int64_t{1} << (bits - 1)), type);
  if (call.has(3)) {
    const bool packed = call[3].dtype() == DType::u8;
    zero = packed ? part_of(unpacked_numbers(reshape(call[3], {rows, -1}), bits), 1, 0, blocks)
                  : reshape(call[3], {rows, blocks});
    zero = cast(zero, type);
  }
  const Array codes = cast(part_of(unpacked_numbers(reshape(call[1], {rows, -1}), bits), 1, 0, columns), type);
  const auto by_column = [&](const Array& by_block) {
    if (call.has(4)) return take(by_block, part_of(call[4], 0, 0, columns), 1);
    return part_of(repeat(by_block, block, 1), 1, 0, columns);
  };
  return (codes - by_column(zero)) * by_column(scale);
}

// Others would be cast without a word, integers of 4 bits among them.
void check_zero_points(const OperatorCall& call) {
  const DType type = call[3].dtype(), scales = call[2].dtype();
  if (call.bits(3) == 0 && (type == DType::u8 || type == scales || (is_floating(type) && type != DType::f64))) return;
  call.refuse("zero points of ", type, "; packed ones of u8, or ", scales, " as the scales, are expected");
}

// Weights (N, K) in blocks along K, each with a scale and a zero point; which block a column is of may be listed.
Outputs product_with_blocks(const OperatorCall& call) {
  const std::int64_t columns = call.integer("K"), rows = call.integer("N"), stated = call.integer("block_size");
  const std::int64_t bits = bits_of(call, 4);
  call.ignore("accuracy_level");
  call.require_bounded("K", columns);
  call.require_bounded("N", rows);
  if (columns < 1 || rows < 1 || stated < 1) call.refuse("K ", columns, ", N ", rows, ", block_size ", stated);
  // The product alone would take other lengths for as many blocks, and read the padding behind column K.
  if (call[0].ndim() == 0 || call[0].shape().back() != columns) {
    call.refuse("rows of shape ", call[0].shape(), " for weights with K ", columns, ": the last axis must be K long");
  }
  if (call.has(3)) check_zero_points(call);
  const std::int64_t block = std::min(stated, columns), blocks = columns / block + (columns % block != 0 ? 1 : 0);
  const bool usual = stated >= least_quantised_block && stated <= largest_quantised_block &&
                     std::has_single_bit(static_cast<std::uint64_t>(stated));
  Array y;
  if (call.has(4) || !usual) {
    y = matmul(call[0], transpose(weights_spread(call, rows, columns, block, blocks, bits)));
  } else {
    QuantisedWeights<Any> weights{
        reshape(call[1], {rows, blocks, stated * bits / 8}), reshape(call[2], {rows, blocks}), {}, bits};
    if (call.has(3)) {
      const bool packed = call[3].dtype() == DType::u8;
      weights.zero_points = packed ? reshape(call[3], {rows, (blocks * bits + 7) / 8})
                                   : cast(reshape(call[3], {rows, blocks}), call[2].dtype());
    }
    y = quantised_matmul(call[0], weights);
  }
  return {call.has(5) ? y + call[5] : y};
}

// Rows of a table whose numbers are in blocks along another axis.
Outputs rows_of_blocks(const OperatorCall& call) {
  const std::int64_t bits = bits_of(call, 4), block = call.integer("block_size", 128);
  const std::int64_t rank = call[0].ndim();
  for (const std::size_t i : {2, 3}) {
    if (call.has(i) && call[i].ndim() != rank) call.refuse("input ", i, " of shape ", call[i].shape());
  }
  std::int64_t from = call.integer("gather_axis", 0), along = call.integer("quantize_axis", 1);
  if (from < 0) from += rank;
  if (along < 0) along += rank;
  const bool packed = call[0].dtype() == DType::u8 && call.bits(0) == 0 && bits != 8;
  if (from == along || from < 0 || along < 0 || from >= rank || along >= rank)
    call.refuse("gather_axis ", from, ", quantize_axis ", along);
  if (packed && along != rank - 1) call.refuse("packed numbers in blocks along axis ", along, " of ", rank);
  const auto rows = [&](const Array& x) { return take(x, call[1], from); };
  const std::int64_t axis = along > from ? along + call[1].ndim() - 1 : along;
  Array codes = rows(call[0]);
  if (packed) codes = unpacked_numbers(codes, bits);
  const Array scale = rows(call[2]);
  Array zero;
  if (call.has(3)) {
    zero = rows(call[3]);
    if (packed) {
      std::vector<Index> stored(static_cast<std::size_t>(zero.ndim()), Index(all));
      stored.back() = slice(0, axis_length(scale, static_cast<std::size_t>(scale.ndim() - 1)));
      zero = unpacked_numbers(zero, bits).get(stored);
    }
  } else if (call[0].dtype() == DType::u8 && call.bits(0) == 0) {
    zero = Array::full({}, std::int64_t{1} << (bits - 1), DType::u8);
  }
  const auto spread = [&](const Array& x) {
    return !x.defined() || x.ndim() == 0 ? x : along_axis(x, codes, axis, block);
  };
  return {dequantised(codes, spread(scale), spread(zero))};
}

constexpr OperatorRow microsoft_quantised_table[] = {
    {"DynamicQuantizeMatMul", 1, product_quantised_on_the_way},
    {"GatherBlockQuantized", 1, rows_of_blocks},
    {"MatMulIntegerToFloat", 1, product_to_float},
    {"MatMulNBits", 1, product_with_blocks},
    {"QGemm", 1, quantised_general_product},
    {"QLinearAdd", 1, quantised_pair, add},
    {"QLinearAveragePool", 1, quantised_window_means},
    {"QLinearConcat", 1, quantised_concat},
    {"QLinearGlobalAveragePool", 1, quantised_global_mean},
    {"QLinearLeakyRelu", 1, quantised_leaky_relu},
    {"QLinearMul", 1, quantised_pair, multiply},
    {"QLinearSigmoid", 1, quantised_sigmoid},
    {"QLinearSoftmax", 1, quantised_softmax},
    {"QLinearWhere", 1, quantised_choice},
};

}  // namespace

std::span<const OperatorRow> microsoft_quantised_rows() { return microsoft_quantised_table; }

}  // namespace tyto::onnx
