// SPDX-License-Identifier: MIT
// Quantised operators: computed on the integers' exact values, then rounded as the standard says.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/value/element_types.hpp"
#include "onnx/file/element_types.hpp"
#include "onnx/file/small_floats.hpp"
#include "onnx/operators/convolutions.hpp"
#include "onnx/operators/quantisation.hpp"
#include "onnx/operators/windows.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

struct Range {
  double low;
  double high;
};

Range range_of_type(DType dtype, int bits) {
  if (bits != 0 && bits < 8) {
    const double numbers = std::ldexp(1.0, bits), low = dtype == DType::i8 ? -numbers / 2 : 0;
    return {low, low + numbers - 1};
  }
  return core::with_element_type(dtype, []<class E>() -> Range {
    using Limits = std::numeric_limits<std::conditional_t<std::is_integral_v<E>, E, std::int32_t>>;
    return {static_cast<double>(Limits::min()), static_cast<double>(Limits::max())};
  });
}

// A product of two numbers of 8 bits less their zero points takes 16 bits at most, and f32 holds integers of 24.
constexpr std::int64_t most_f32_terms = 256;
constexpr std::int64_t middle_of_bytes = 128;

Array less_zero(const Array& x, const Array& zero_point, DType type) {
  const Array number = cast(x, type);
  return zero_point.defined() ? number - cast(zero_point, type) : number;
}

// A number for each row of a stack of matrices, as their elements can be combined with.
Array of_rows(const Array& numbers, const Array& a) {
  const bool by_row = numbers.defined() && numbers.ndim() == 1 && numbers.size() > 1 && a.ndim() >= 2;
  return by_row ? expand_dims(numbers, -1) : numbers;
}

// x / scale + zero_point, where `whole` in whole steps.
Array in_steps(const Array& x, const Array& scale, const Array& zero_point, bool whole) {
  const bool half = scale.dtype() == DType::f16 || scale.dtype() == DType::bf16;
  Array steps = cast(x, half ? DType::f32 : scale.dtype()) / cast(scale, half ? DType::f32 : scale.dtype());
  if (whole) steps = round(steps);
  return zero_point.defined() ? steps + cast(zero_point, steps.dtype()) : steps;
}

}  // namespace

Array quantised(const Array& x, const Array& scale, const Array& zero_point, DType dtype, int bits) {
  const Range range = range_of_type(dtype, bits);
  return cast(clip(in_steps(x, scale, zero_point, true), range.low, range.high), dtype);
}

Array dequantised(const Array& x, const Array& scale, const Array& zero_point) {
  return less_zero(x, zero_point, scale.dtype()) * scale;
}

Array along_axis(const Array& numbers, const Array& x, std::int64_t axis, std::int64_t block) {
  if (!numbers.defined() || numbers.size() == 1) return numbers.defined() ? reshape(numbers, {}) : numbers;
  const std::int64_t rank = x.ndim();
  if (axis < -rank || axis >= rank) {
    core::throw_error<IndexError>(numbers.size(), " scales or zero points along axis ", axis, " of ", rank, " axes");
  }
  if (axis < 0) axis += rank;
  if (block != 0) {
    // Longer blocks than the axis are one.
    const std::int64_t length = axis_length(x, static_cast<std::size_t>(axis));
    const Array spread = repeat(numbers, std::min(block, std::max<std::int64_t>(length, 1)), axis);
    std::vector<Index> entries(static_cast<std::size_t>(x.ndim()), Index(all));
    entries[static_cast<std::size_t>(axis)] = slice(0, axis_length(x, static_cast<std::size_t>(axis)));
    return spread.get(entries);
  }
  Shape shape(static_cast<std::size_t>(x.ndim()), 1);
  shape[static_cast<std::size_t>(axis)] = numbers.size();
  return reshape(numbers, shape);
}

// Bytes of `type`, which processors multiply, and their zero points in 32 bits; both are moved by 128 where the bytes
// are of the other type.
struct Bytes {
  Array numbers;
  Array zero;
};
Bytes bytes_of(const Array& x, const Array& zero_point, DType type) {
  Bytes bytes{x, zero_point.defined() ? cast(zero_point, DType::i32) : Array::full({}, 0, DType::i32)};
  if (x.dtype() == type) return bytes;
  bytes.numbers = cast(bitwise_xor(x, Array::full({}, type == DType::i8 ? 128 : -128, x.dtype())), type);
  bytes.zero = bytes.zero + (type == DType::i8 ? -middle_of_bytes : middle_of_bytes);
  return bytes;
}

Array integer_product(const Array& a, const Array& b, const Array& a_zero, const Array& b_zero) {
  const auto is_byte = [](const Array& x) { return x.dtype() == DType::u8 || x.dtype() == DType::i8; };
  const std::int64_t terms = axis_length(a, static_cast<std::size_t>(a.ndim() - 1));
  const std::int64_t last = b.ndim() - 1;
  if (!is_byte(a) || !is_byte(b)) {
    const DType type = terms <= most_f32_terms ? DType::f32 : DType::i32;
    return matmul(less_zero(a, of_rows(a_zero, a), type), less_zero(b, b_zero, type));
  }
  if (a.ndim() == 1) return squeeze(integer_product(expand_dims(a, 0), b, a_zero, b_zero), b.ndim() == 1 ? 0 : -2);
  if (b.ndim() == 1) return squeeze(integer_product(a, expand_dims(b, 1), a_zero, b_zero), -1);
  const Bytes left = bytes_of(a, of_rows(a_zero, a), DType::u8), right = bytes_of(b, b_zero, DType::i8);
  const Array rows = cast(left.numbers, DType::i32), columns = cast(right.numbers, DType::i32);
  const Array products = matmul(rows, columns);
  if (products.size() == 0) return products;
  // (a - z) (b - w) = a b - z (sums of columns of b - terms w) - w (sums of rows of a), though sums wrap round. The
  // sums of columns are a product, which reads weights as bytes.
  const Array ones = cast(matrix_transpose(ones_like(part_of(right.numbers, last, 0, 1))), DType::i32);
  return products - left.zero * (matmul(ones, columns) - right.zero * terms) - right.zero * sum(rows, -1, true);
}

// Input i of a product, or the bytes that it stands for.
Array recorded_weights(const OperatorCall& call, std::size_t i, const Array& w) {
  if (!call.lazy() || !call.known(i) || call.known(0)) return w;
  return Array(Tensor<Lazy>::borrow_bytes(w.bytes().data(), w.shape(), w.dtype(), [kept = w] {}).value());
}

Array byte_weights(const OperatorCall& call, std::size_t i) { return recorded_weights(call, i, call[i]); }

// One number, or one for each channel of y.
Array of_channels(const Array& numbers, const Array& y) {
  return numbers.size() == 1 ? reshape(numbers, {}) : by_channel(numbers, y.ndim());
}

// Whether f32 holds every sum of bytes times these filters.
bool f32_holds_sums(const Array& w) {
  if (w.ndim() < 3 || w.size() == 0) return false;
  const Array sizes = sum(abs(reshape(cast(w, DType::f32), {axis_length(w, 0), -1})), 1);
  return cast(max(sizes), DType::f64).to_vector<double>()[0] * 255 <= 0x1p24;
}

// Of u8 or i8 by filters of i8, in f32, which holds the sums: (x - zero) w = x w - zero (sums of w).
Array byte_convolution(const OperatorCall& call, const Array& x, double zero_point, const Array& w) {
  const double zero = zero_point + (x.dtype() == DType::i8 ? middle_of_bytes : 0);
  const Array kernel = cast(w, DType::f32);
  const Array y = convolved(call, bytes_of(x, {}, DType::u8).numbers, kernel, {}, zero);
  return zero == 0 ? y : y - of_channels(sum(reshape(kernel, {axis_length(w, 0), -1}), 1) * zero, y);
}

Array dequantised_convolution(const OperatorCall& call) {
  const auto &x = call.operand(0).dequantised, &w = call.operand(1).dequantised;
  if (x == nullptr || w == nullptr || x->scale.size() != 1) return {};
  const bool by_filter = w->scale.size() == 1 || w->scale.shape()[0] == w->scale.size();
  if (w->numbers.dtype() != DType::i8 || w->zero_point != 0 || w->numbers.ndim() < 3 || w->numbers.size() == 0 ||
      !by_filter)
    return {};
  // The same numbers where f32 holds the sums; elsewhere the sums of w would cancel what was rounded.
  const Array sums =
      call.known(1) && f32_holds_sums(w->numbers)
          ? byte_convolution(call, x->numbers, x->zero_point, recorded_weights(call, 1, w->numbers))
          : convolved(call, cast(x->numbers, DType::f32) - x->zero_point, cast(w->numbers, DType::f32), {});
  const Array y = sums * of_channels(x->scale * w->scale, sums);
  return call.has(2) ? y + by_channel(call[2], y.ndim()) : y;
}

QuantisedByRange quantised_by_range(const Array& x) {
  const Array low = minimum(min(x), 0.0), high = maximum(max(x), 0.0);
  const Array scale = (high - low) / 255.0;
  const Array safe = where(scale == 0, 1.0, scale);
  const Array zero = cast(clip(round(-low / safe), 0.0, 255.0), DType::u8);
  return {quantised(x, safe, zero, DType::u8), scale, zero};
}

Array rounded_by_range(const Array& x) {
  const QuantisedByRange y = quantised_by_range(x);
  return dequantised(y.bytes, y.scale, y.zero_point);
}

namespace {

Outputs quantise(const OperatorCall& call) {
  const Array& x = call[0];
  const std::int64_t axis = call.integer("axis", 1), block = call.integer("block_size", 0);
  const bool saturate = call.integer("saturate", 1) != 0;
  call.ignore("precision");
  std::int64_t type = call.integer("output_dtype", 0);
  if (type == 0) type = element_type_of(DType::u8);
  if (call.has(2)) type = call.element_type(2) != 0 ? call.element_type(2) : element_type_of(call[2].dtype());
  const std::optional<DType> dtype = dtype_from(type);
  const SmallFloat* const format = small_float(type);
  if (!dtype || (format == nullptr && !is_integer(*dtype)) || type == text_type) {
    call.refuse("quantises to ", element_type_name(type), ", to which nothing is quantised");
  }
  const Array scale = along_axis(call[1], x, axis, block), zero_point = along_axis(call.optional(2), x, axis, block);
  Operand y(format != nullptr ? rounded_to(*format, in_steps(x, scale, zero_point, false), *dtype, saturate)
                              : quantised(x, scale, zero_point, *dtype, packed_bits(type)));
  y.element_type = type;
  return {y};
}

// The one zero point, 0 where it was left out; nothing where there are several, or it is not known.
std::optional<double> known_zero(const OperatorCall& call, std::size_t i) {
  if (!call.has(i)) return 0;
  const std::vector<double> zeros = call.known(i) ? call.numbers_in(i) : std::vector<double>();
  if (zeros.empty() || std::ranges::count(zeros, zeros[0]) != std::ssize(zeros)) return {};
  return zeros[0];
}

Outputs dequantise(const OperatorCall& call) {
  const Array& x = call[0];
  const std::int64_t axis = call.integer("axis", 1), block = call.integer("block_size", 0);
  const std::int64_t stated = call.integer("output_dtype", 0);
  Operand y = dequantised(x, along_axis(call[1], x, axis, block), along_axis(call.optional(2), x, axis, block));
  y.element_type = stated != 0 ? stated : element_type_of(y.tensor.dtype());
  const std::optional<DType> dtype = computed_dtype_from(y.element_type);
  if (!dtype) call.refuse("dequantises to ", element_type_name(stated), ", in which Tyto does not compute");
  y.tensor = cast(y.tensor, *dtype);
  const bool is_byte = x.dtype() == DType::u8 || x.dtype() == DType::i8;
  if (!is_byte || call[1].dtype() != DType::f32 || *dtype != DType::f32 || block != 0) return {y};
  if (const std::optional<double> zero = known_zero(call, 2)) {
    y.dequantised = std::make_shared<Dequantised>(Dequantised{x, along_axis(call[1], x, axis), *zero});
  }
  return {y};
}

Outputs quantise_by_range(const OperatorCall& call) {
  const QuantisedByRange y = quantised_by_range(call[0]);
  return {y.bytes, y.scale, y.zero_point};
}

Outputs product_of_integers(const OperatorCall& call) {
  return {cast(integer_product(call[0], byte_weights(call, 1), call.optional(2), call.optional(3)), DType::i32)};
}

Outputs quantised_product(const OperatorCall& call) {
  const Array total = integer_product(call[0], byte_weights(call, 3), call[2], call[5]);
  const Array a_scale = call[3].ndim() == 1 ? call[1] : of_rows(call[1], call[0]);
  const Array scale = a_scale * call[4] / call[6];
  const Array y = cast(total, DType::f32) * cast(scale, DType::f32);
  return {quantised(y, Array::full({}, 1.0), call[7], call[7].dtype())};
}

// Computes in f64 where f32 does not hold the sums exactly: convolutions of i32 are slower. Inputs by their numbers.
Array integer_convolution(const OperatorCall& call, std::size_t w_at, std::size_t x_zero_at, std::size_t w_zero_at) {
  const Array &x = call[0], &w = call[w_at];
  const std::optional<double> x_zero = known_zero(call, x_zero_at);
  const bool of_bytes =
      (x.dtype() == DType::u8 || x.dtype() == DType::i8) && w.dtype() == DType::i8 && call.known(w_at);
  if (of_bytes && x_zero && known_zero(call, w_zero_at) == 0.0 && f32_holds_sums(w))
    return byte_convolution(call, x, *x_zero, byte_weights(call, w_at));
  const std::int64_t terms = w.size() / std::max<std::int64_t>(axis_length(w, 0), 1);
  const DType type = terms <= most_f32_terms ? DType::f32 : DType::f64;
  return convolved(call, less_zero(x, call.optional(x_zero_at), type),
                   less_zero(w, along_axis(call.optional(w_zero_at), w, 0), type), {});
}

Outputs convolution_of_integers(const OperatorCall& call) {
  return {cast(integer_convolution(call, 1, 2, 3), DType::i32)};
}

Outputs quantised_convolution(const OperatorCall& call) {
  Array y = integer_convolution(call, 3, 2, 5);
  if (call.has(8)) y = cast(y, DType::i32) + by_channel(call[8], y.ndim());
  const Array scale = of_channels(call[1] * call[4] / call[6], y);
  return {quantised(cast(y, DType::f32) * scale, Array::full({}, 1.0), call[7], call[7].dtype())};
}

constexpr OperatorRow quantised_table[] = {
    {"ConvInteger", 10, convolution_of_integers},
    {"DequantizeLinear", 10, dequantise},
    {"DynamicQuantizeLinear", 11, quantise_by_range},
    {"MatMulInteger", 10, product_of_integers},
    {"QLinearConv", 10, quantised_convolution},
    {"QLinearMatMul", 10, quantised_product},
    {"QuantizeLinear", 10, quantise},
};

// The same operators in ONNX Runtime's own domain, for types that old versions of the standard lacked.
constexpr OperatorRow microsoft_table_of_quantisation[] = {
    {"DequantizeLinear", 1, dequantise},
    {"QuantizeLinear", 1, quantise},
};

}  // namespace

std::span<const OperatorRow> quantised_rows() { return quantised_table; }
std::span<const OperatorRow> microsoft_quantisation_rows() { return microsoft_table_of_quantisation; }

}  // namespace tyto::onnx
