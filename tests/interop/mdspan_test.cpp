// SPDX-License-Identifier: MIT
// <tyto/interop/mdspan.hpp>: spans with the interface of std::mdspan shared both ways, in both modes.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <tyto/interop/mdspan.hpp>
#include <tyto/tyto.hpp>
#include <utility>
#include <vector>
#if __has_include(<mdspan>)
#include <mdspan>
#endif

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

#if defined(__cpp_lib_mdspan)
template <class T>
using RowMajorSpan = std::mdspan<T, std::dextents<std::size_t, 2>>;
template <class T>
using StridedSpan = std::mdspan<T, std::dextents<std::size_t, 2>, std::layout_stride>;
template <class T>
StridedSpan<T> strided(T* data, std::array<std::size_t, 2> shape, std::array<std::size_t, 2> strides) {
  return {data, {std::dextents<std::size_t, 2>(shape), strides}};
}
#else
/// The part of the interface of std::mdspan that is asked for, where the standard library has none yet.
struct Extents {
  std::array<std::size_t, 2> lengths;
  explicit Extents(std::array<std::size_t, 2> of) : lengths(of) {}
  static constexpr std::size_t static_extent(std::size_t) { return static_cast<std::size_t>(-1); }
};
template <class T>
class Span {
 public:
  using element_type = T;
  using reference = T&;
  using index_type = std::size_t;
  using rank_type = std::size_t;
  using extents_type = Extents;

  Span(T* data, Extents extents) : Span(data, extents.lengths, {extents.lengths[1], 1}) {}
  Span(T* data, std::array<std::size_t, 2> shape, std::array<std::size_t, 2> strides)
      : data_(data), shape_(shape), strides_(strides) {}
  static constexpr std::size_t rank() { return 2; }
  T* data_handle() const { return data_; }
  std::size_t extent(std::size_t axis) const { return shape_[axis]; }
  std::size_t stride(std::size_t axis) const { return strides_[axis]; }

 private:
  T* data_;
  std::array<std::size_t, 2> shape_, strides_;
};
template <class T>
using RowMajorSpan = Span<T>;
template <class T>
Span<T> strided(T* data, std::array<std::size_t, 2> shape, std::array<std::size_t, 2> strides) {
  return {data, shape, strides};
}
#endif

}  // namespace

BOTH_MODES("a tensor is over a span, whatever its strides, and released when it is gone") {
  using T = Tensor<Mode>;
  std::vector<double> memory{1, 2, 3, 4, 5, 6};
  bool released = false;
  {
    const T x = mdspans::borrow<T>(strided(memory.data(), {3, 2}, {1, 3}), [&] { released = true; });
    CHECK(x.shape() == Shape{3, 2});
    memory[0] = 10;
    CHECK(numbers(x) == Numbers{10, 4, 2, 5, 3, 6});
  }
  CHECK(released);
}

BOTH_MODES("a span shows a tensor's elements where they lie") {
  using T = Tensor<Mode>;
  const T x = T{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}} + 0.0;
  const auto m = mdspans::view<RowMajorSpan<const float>>(x);
  CHECK(m.data_handle() == x.template data<float>().data());
  CHECK(m.extent(1) == 3);
  CHECK(m.stride(0) == 3);
  const T vector = x(0);
  CHECK_THROWS_WITH_AS(mdspans::view<RowMajorSpan<const float>>(vector),
                       "mdspans::view: the span has 2 axes, the tensor 1", ShapeError);
}
