// SPDX-License-Identifier: MIT
// Tensors as xtensor arrays and back, of any rank. Include it where xtensor is on the include path; the library itself
// needs none.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#endif

#include "tyto/tensor.hpp"

namespace tyto::xtensor {

/// The elements of a tensor, evaluated first, where they lie: no copy, but of tensors that are views of others. For how
/// long, see Tensor::data().
///
///     const auto a = xtensor::view<float>(x);
template <Element T, class M>
auto view(const Tensor<M>& x) {
  const std::vector<std::size_t> shape(x.shape().begin(), x.shape().end());
  const auto elements = x.template data<T>();
  return xt::adapt(elements.data(), elements.size(), xt::no_ownership(), shape);
}
/// A temporary would be gone before the array is read: give it a name.
template <Element T, class M>
void view(const Tensor<M>&& x) = delete;

/// A tensor with a copy of what an expression yields.
template <class T = Tensor<Eager>, class Expression>
T tensor(const xt::xexpression<Expression>& expression) {
  using Number = std::remove_cv_t<typename Expression::value_type>;
  const xt::xarray<Number, xt::layout_type::row_major> dense = expression.derived_cast();
  Shape shape;
  for (const auto length : dense.shape()) shape.push_back(static_cast<std::int64_t>(length));
  return T::from(std::span<const Number>(dense.data(), dense.size()), shape);
}

/// A tensor over the memory of an array or strided view, whatever its strides: no copy. The memory must hold still
/// until `release` is called; Tyto never writes to it.
template <class T = Tensor<Eager>, class Array>
requires requires(const Array& array) {
  array.data();
  array.strides();
  array.data_offset();
}
T borrow(const Array& array, std::function<void()> release = {}) {
  Shape shape;
  IntList strides;
  for (const auto length : array.shape()) shape.push_back(static_cast<std::int64_t>(length));
  for (const auto stride : array.strides()) strides.push_back(static_cast<std::int64_t>(stride));
  return T::borrow_strided(array.data() + array.data_offset(), shape, strides, std::move(release));
}

/// A temporary array would be gone: adopt() it.
template <class T = Tensor<Eager>, class Array>
requires(!std::is_lvalue_reference_v<Array> && requires { typename std::remove_cvref_t<Array>::container_type; }) T
    borrow(Array&& array, std::function<void()> release = {})
= delete;

/// A tensor that keeps the array, moved from, as long as it needs the elements: no copy.
template <class T = Tensor<Eager>, class Array>
requires(!std::is_lvalue_reference_v<Array>) T adopt(Array&& array) {
  const auto kept = std::make_shared<const std::remove_cvref_t<Array>>(std::move(array));
  return borrow<T>(*kept, [kept] {});
}

}  // namespace tyto::xtensor
