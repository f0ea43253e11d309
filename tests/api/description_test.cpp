// SPDX-License-Identifier: MIT
// describe(): the kind and memory layout of a tensor, with NumPy's strides, before and after it is computed.
#include <doctest/doctest.h>

#include <sstream>

#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"

using namespace tyto;

namespace {

template <class T>
std::string text_of(const T& x) {
  std::ostringstream out;
  out << describe(x);
  return out.str();
}

}  // namespace

BOTH_MODES("kinds are flags that combine") {
  using T = Tensor<Mode>;
  const T data{{1, 2, 3}, {4, 5, 6}};
  CHECK(describe(data).kind == TensorKind::constant);
  CHECK(describe(T::persistent(data)).kind == TensorKind::persistent);
  CHECK(describe(T::variable(data)).kind == (TensorKind::persistent | TensorKind::trainable));
  CHECK(is(describe(T::variable(data)).kind, TensorKind::persistent));
  CHECK(!is(describe(T::persistent(data)).kind, TensorKind::persistent | TensorKind::trainable));
  const auto x = Tensor<Lazy>::placeholder({2, 3}, DType::f64);
  CHECK(describe(x).kind == TensorKind::input);
  CHECK(describe(x).dtype == DType::f64);
  CHECK(describe(x).shape == Shape{2, 3});
  CHECK(!describe(x).layout);
  CHECK(describe(x + 1.0).kind == TensorKind::computed);
  // What eager mode has computed will not change; views of it neither.
  const auto kind = std::is_same_v<Mode, Eager> ? TensorKind::constant : TensorKind::computed;
  CHECK(describe(data + data).kind == kind);
  CHECK(describe(transpose(data + data)).kind == kind);
}

BOTH_MODES("strides and offsets are those of NumPy, in elements") {
  using T = Tensor<Mode>;
  const T data{{1, 2, 3}, {4, 5, 6}};
  const auto check = [](const T& x, const IntList& strides, std::int64_t offset, bool is_view) {
    const TensorDescription seen = describe(x);
    REQUIRE(seen.layout);
    CHECK(seen.layout->strides == strides);
    CHECK(seen.layout->offset == offset);
    CHECK(seen.layout->is_view == is_view);
  };
  check(data, {3, 1}, 0, false);
  check(transpose(data), {1, 3}, 0, true);
  check(T(data(1)), {1}, 3, true);
  check(T(data(all, slice(1, 3))), {3, 1}, 1, true);
  check(flip(data, {1}), {3, -1}, 2, true);
  check(broadcast_to(T{1, 2, 3}, {4, 3}), {0, 1}, 0, true);
  check(reshape(data, {6}), {1}, 0, false);
  check(transpose(T(data(all, slice(1, 3)))), {1, 3}, 1, true);
  const T empty = T::zeros({0, 3});
  CHECK(describe(empty).shape == Shape{0, 3});
  // Column-major data of others lies as they laid it.
  const float columns[] = {1, 4, 2, 5, 3, 6};
  check(T::borrow_strided(columns, {2, 3}, {1, 2}, [] {}), {1, 2}, 0, true);
}

TEST_CASE("a pending tensor has no layout until it is computed") {
  using T = Tensor<Lazy>;
  const T x = T{1, 2} + 1.0;
  CHECK(!describe(x).layout);
  CHECK(!describe(flip(x, {0})).layout);
  CHECK(text_of(x) == "f32(2,), with no contents yet");
  CHECK(x.to_vector<float>() == std::vector<float>{2, 3});
  CHECK(describe(x).layout);
  CHECK(describe(flip(x, {0})).layout->strides == IntList{-1});
}

TEST_CASE("descriptions print in a line") {
  using T = Tensor<Eager>;
  CHECK(text_of(transpose(T{{1, 2, 3}, {4, 5, 6}})) == "i64(3,2) constant, view with strides (1,3) from element 0");
  CHECK(text_of(T::variable(T{1, 2})) == "i64(2,) persistent trainable, with strides (1,) from element 0");
}
