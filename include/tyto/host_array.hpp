// SPDX-License-Identifier: MIT
// Arrays in host memory, as files and batches hold them before tensors are made of them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// An array in host memory, row-major: what files hold, whatever mode and device the tensors made of it have.
struct HostArray {
  DType dtype = DType::f32;      ///< element type
  Shape shape;                   ///< its lengths
  std::vector<std::byte> bytes;  ///< the elements, row-major
};

/// An array of these elements, which must fill the shape: host_array(std::vector{1.5f, 2.0f}, {2, 1}).
template <class T>
HostArray host_array(const std::vector<T>& elements, const Shape& shape) {
  if (static_cast<std::int64_t>(elements.size()) != element_count(shape)) {
    throw ShapeError("host_array: " + std::to_string(elements.size()) + " elements do not fill shape " +
                     to_string(shape) + " of " + std::to_string(element_count(shape)));
  }
  if constexpr (std::is_same_v<T, bool>) {  // whose vector holds bits
    HostArray array{dtype_of<T>, shape, {}};
    for (const bool element : elements) array.bytes.push_back(std::byte{element});
    return array;
  } else {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(elements));
    return {dtype_of<T>, shape, {bytes.begin(), bytes.end()}};
  }
}

/// The same, not owned.
struct HostArrayView {
  DType dtype = DType::f32;          ///< element type
  Shape shape;                       ///< its lengths
  std::span<const std::byte> bytes;  ///< the elements, row-major
};

/// A tensor with a copy of the array's elements.
template <class T>
T to_tensor(const HostArray& array) {
  return T::from_bytes(array.bytes.data(), element_count(array.shape), array.shape, array.dtype);
}

namespace detail {
/// `x` for one read. A state keeps contents that were read from it, besides its packed weights; so a state is replaced
/// by a value of its own with the same contents.
Value to_read(const Value& x);

template <class M>
HostArrayView view_of(const char* function, const Tensor<M>& x) {
  if (!x.defined()) throw GraphError(std::string(function) + ": given is an undefined tensor");
  return {x.dtype(), x.shape(), x.bytes()};
}
}  // namespace detail

}  // namespace TYTO_API
