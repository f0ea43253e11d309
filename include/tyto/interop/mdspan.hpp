// SPDX-License-Identifier: MIT
// Tensors as mdspan and back: std::mdspan of C++23, or any other class with its interface, such as Kokkos::mdspan.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "tyto/tensor.hpp"

namespace tyto::mdspans {

/// The interface of std::mdspan and of classes like it.
template <class Span>
concept Mdspan = requires(const Span& span, typename Span::rank_type axis) {
  { span.data_handle() } -> std::convertible_to<const typename Span::element_type*>;
  { span.extent(axis) } -> std::convertible_to<std::int64_t>;
  { span.stride(axis) } -> std::convertible_to<std::int64_t>;
  { Span::rank() } -> std::convertible_to<std::size_t>;
  typename Span::reference;
};

/// The elements of a tensor, evaluated first, where they lie: no copy, but of tensors that are views of others. `Span`
/// has row-major layout and const elements, as std::mdspan<const float, std::dextents<std::size_t, 2>>; for how long it
/// may be read, see Tensor::data().
template <Mdspan Span, class M>
Span view(const Tensor<M>& x) {
  static_assert(std::is_const_v<typename Span::element_type>, "mdspans::view shows elements that are only read: const");
  constexpr std::size_t rank = Span::rank();
  if (x.shape().size() != rank) {
    throw ShapeError("mdspans::view: the span has " + std::to_string(rank) + " axes, the tensor " +
                     std::to_string(x.shape().size()));
  }
  std::array<typename Span::index_type, rank> extents{};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    extents[axis] = static_cast<typename Span::index_type>(x.shape()[axis]);
    if (static_cast<std::int64_t>(extents[axis]) != x.shape()[axis]) {
      throw ShapeError("mdspans::view: the index type of the span does not hold an axis of " +
                       std::to_string(x.shape()[axis]) + " elements");
    }
    const auto fixed = Span::extents_type::static_extent(axis);
    if (fixed != std::size_t(-1) && fixed != static_cast<std::size_t>(x.shape()[axis])) {
      throw ShapeError("mdspans::view: axis " + std::to_string(axis) + " of the span has " + std::to_string(fixed) +
                       " elements, that of the tensor " + std::to_string(x.shape()[axis]));
    }
  }
  using Number = std::remove_const_t<typename Span::element_type>;
  const Span span(x.template data<Number>().data(), typename Span::extents_type(extents));
  std::int64_t stride = 1;
  for (std::size_t axis = rank; axis-- > 0; stride *= x.shape()[axis]) {
    if (x.shape()[axis] > 1 && static_cast<std::int64_t>(span.stride(axis)) != stride) {
      throw ShapeError("mdspans::view: the layout of the span is not row-major, as tensors lie");
    }
  }
  return span;
}
/// A temporary would be gone before the span is read: give it a name.
template <Mdspan Span, class M>
void view(const Tensor<M>&& x) = delete;

/// A tensor over the memory of a span, whatever its strides: no copy. The memory must hold still until `release` is
/// called; Tyto never writes to it.
template <class T = Tensor<Eager>, Mdspan Span>
T borrow(const Span& span, std::function<void()> release = {}) {
  static_assert(
      std::is_lvalue_reference_v<typename Span::reference>,
      "mdspans::borrow takes elements as they lie in memory; those that an accessor computes are to be copied");
  Shape shape;
  IntList strides;
  for (std::size_t axis = 0; axis < Span::rank(); ++axis) {
    const auto at = static_cast<typename Span::rank_type>(axis);
    shape.push_back(static_cast<std::int64_t>(span.extent(at)));
    strides.push_back(static_cast<std::int64_t>(span.stride(at)));
  }
  return T::borrow_strided(span.data_handle(), shape, strides, std::move(release));
}

}  // namespace tyto::mdspans
