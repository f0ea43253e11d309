// SPDX-License-Identifier: MIT
// Shared by the operators' families: operand conversion, attributes and shapes for rules, and the instantiation line.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/graph/builder.hpp"
#include "core/graph/in_f32.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/shape.hpp"
#include "core/value/text.hpp"
#include "ops/attribute_checks.hpp"
#include "ops/once.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/tensor.hpp"

namespace tyto::core {

using AnyTensor = Tensor<Any>;

/// The operand as a read sees it now; an empty one stays empty.
inline Value operand(const Value& value) { return value && value.node()->op() == OpId::state ? resolve(value) : value; }

/// The number that the caller passed as an operand, or null for a tensor.
const Scalar* scalar_operand(const Value& value);

/// Converts operands, which are moved from and are no states, to the types the operator's domain asks for, then emits
/// it.
Value emit_elementwise(OpId op, std::span<Value> operands);

/// The value in another element type: itself, a number made anew, or a cast.
Value cast_to(const Value& value, DType dtype);

/// The type in which operands meet: promotion among tensors, numbers yielding to them.
DType common_type(std::span<const Value> operands);

/// The same for operands that are compared: i64 where a scalar does not fit the tensors' elements.
DType comparable_type(std::span<const Value> operands);
/// The type of sums and products: integers are summed in 64 bits.
constexpr DType accumulation_type(DType type) {
  return is_floating(type) ? type : type == DType::u64 ? DType::u64 : DType::i64;
}

/// Whether elements of `dtype` can hold the number: all can, save integer elements one that is too large.
bool holds(DType dtype, const Scalar& number);

/// Throws ValueError naming `op` where a scalar integer does not fit integer elements, as NumPy does.
void check_holds(std::string_view op, DType dtype, const Scalar& number);

/// As cast_to, for what goes into elements of `dtype`: a scalar is checked.
Value fitted_to(std::string_view op, const Value& value, DType dtype);

/// Complex numbers as their parts, which are one axis more at the end, and back: what adds and moves numbers works on
/// complex ones so. Views, where strides allow.
Value as_parts(const Value& value);
Value of_parts(const Value& value);

/// Products of stacks of complex rows with stacks of columns, as matmul's; of the rows' conjugates where asked for.
Value complex_dots(const Value& rows, const Value& columns, bool conjugated);

/// The sum over axes, of complex numbers too.
Value sum_over(const Value& value, const AxesAttributes& axes);

/// Summed over the axes along which `shape` was broadcast to value's shape.
Value sum_to(const Value& value, const Shape& shape);

/// The value as floating-point or complex number: itself, or cast to f32.
Value as_floating(const Value& value);

/// A constant of no mode, cached: the number 0-d in the given type. Where `written`, what it is read from, is older
/// than the function being traced: a new node that depends on it.
Value scalar_constant(const Scalar& value, DType dtype, const Value& written = {});

/// Throws GraphError naming the function when an operand is an undefined tensor.
void require(std::string_view function, const Value& operand);
template <class... Rest>
void require(std::string_view function, const Value& first, const Rest&... rest) {
  require(function, first);
  (require(function, static_cast<const Value&>(rest)), ...);
}

/// An operand as it is now: resolved. Throws GraphError naming `op` when it is an undefined tensor.
Value given(std::string_view op, const Value& operand);

/// Applies a gradient rule made of several operators, in f32 where the gradient is of half precision.
std::vector<Value> in_f32(GradientRule rule, const GradientContext& context);
template <GradientRule rule>
std::vector<Value> rule_in_f32(const GradientContext& context) {
  return in_f32(rule, context);
}

/// The length a + b. Throws ShapeError naming `op` where it is too large.
std::int64_t checked_sum(std::string_view op, std::int64_t a, std::int64_t b);

/// The mode that a tensor's type names.
template <class M>
constexpr Mode mode_tag = std::is_same_v<M, Eager>  ? Mode::eager
                          : std::is_same_v<M, Lazy> ? Mode::lazy
                                                    : Mode::neutral;

/// The mode in which a tensor made to go along with `value` is to be made.
Mode mode_like(const Value& value);

/// `count` numbers from `start`, and the same number everywhere, made in the mode of `value`: recorded where that is.
Value arange_like(const Value& value, std::int64_t count, DType dtype = DType::i64, std::int64_t start = 0,
                  std::int64_t step = 1);
Value full_like(const Value& value, const Shape& shape, const Scalar& number, DType dtype);

/// Whether the lines along an axis have one element each, so that there is nothing to order; not of complex numbers,
/// which have no order.
bool has_single_lines(const Value& x, int axis);

/// `count` elements from `start` along one axis, all of the others.
Value part_along(const Value& x, std::size_t axis, std::int64_t start, std::int64_t count);

/// Zeros of `shape`, to which values are added where take_along_axis with these indices would read: its transpose.
Value added_along_axis(const Shape& shape, const Value& indices, const Value& values, std::size_t axis);

template <class A>
const A& get(const Attributes& attributes) {
  return std::get<A>(attributes);
}

/// One result of the given type and shape.
inline std::vector<TensorType> one(DType dtype, Shape shape) { return {TensorType{dtype, std::move(shape), false}}; }

/// One result, typed and shaped as the first input.
std::vector<TensorType> infer_same(const Attributes&, std::span<const TensorType> inputs);

// The families' tables; ops/table.cpp puts them in the order of the ids.
std::span<const OpDef> elementwise_operators();
std::span<const OpDef> control_operators();
std::span<const OpDef> region_operators();
std::span<const OpDef> create_operators();
std::span<const OpDef> random_operators();
std::span<const OpDef> view_operators();
std::span<const OpDef> complex_operators();
std::span<const OpDef> reduce_operators();
std::span<const OpDef> scan_operators();
std::span<const OpDef> join_operators();
std::span<const OpDef> repeat_operators();
std::span<const OpDef> pad_operators();
std::span<const OpDef> triangle_operators();
std::span<const OpDef> index_operators();
std::span<const OpDef> bounds_operators();
std::span<const OpDef> sort_operators();
std::span<const OpDef> matmul_operators();
std::span<const OpDef> quantised_operators();
std::span<const OpDef> linalg_system_operators();
std::span<const OpDef> linalg_triangle_operators();
std::span<const OpDef> linalg_spectrum_operators();
std::span<const OpDef> linalg_power_operators();
std::span<const OpDef> linalg_eigen_operators();
std::span<const OpDef> fft_operators();
std::span<const OpDef> softmax_operators();
std::span<const OpDef> attention_operators();
std::span<const OpDef> convolution_operators();
std::span<const OpDef> pool_operators();
std::span<const OpDef> resampling_operators();
std::span<const OpDef> collective_operators();
std::span<const OpDef> fused_operators();
std::span<const OpDef> epilogue_operators();

}  // namespace tyto::core

/// Puts the three instantiations of a public function template into this file's object: one line a function.
#define TYTO_INSTANTIATE(name)                           \
  [[gnu::used]] static constexpr auto tyto_keep_##name = \
      std::tuple(&::tyto::name<::tyto::Eager>, &::tyto::name<::tyto::Lazy>, &::tyto::name<::tyto::Any>);
