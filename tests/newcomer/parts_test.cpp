// SPDX-License-Identifier: MIT
// x(index) of a name that can be assigned to: a tensor like any other, wherever a value is wanted.
#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <sstream>
#include <thread>
#include <tuple>
#include <tyto/tyto.hpp>
#include <utility>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/printed.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;
using tyto_test::printed;

namespace {

template <class T>
auto twice(const T& x) {
  static_assert(!std::is_same_v<T, void>);
  T sum_of_both = x;
  sum_of_both += x;
  return sum_of_both;
}

constexpr const char* mask_unread =
    "index: the shape of what a mask picks depends on the data, so only eager mode reads it or gives each element a "
    "value of its own; choose by where(mask, v, x), or assign a single number: x(mask) = 0";

}  // namespace

BOTH_MODES("a part goes into templates, tuples, lists and compiled functions as a tensor") {
  using T = Tensor<Mode>;
  T x{{1.0, 2.0}, {3.0, 4.0}};
  static_assert(std::is_same_v<decltype(x(0)), T>);
  CHECK(numbers(twice(x(0))) == Numbers{2, 4});
  CHECK(numbers(concat(std::vector{x(0), x(1)})) == Numbers{1, 2, 3, 4});
  auto [loss, gradients] = value_and_grad([](T s) { return std::tuple(s(0).sum(), s(1)); })(x);
  CHECK(numbers(std::get<1>(loss)) == Numbers{3, 4});
  CHECK(numbers(gradients[0]) == Numbers{1, 1, 0, 0});
  auto both = compile([](T row) { return std::pair(row(0), row(1)); });
  CHECK(numbers(both(x(1)).second) == Numbers{4});
  CHECK(numbers(x) == Numbers{1, 2, 3, 4});
}

BOTH_MODES("what is kept of a part is a tensor of its own") {
  using T = Tensor<Mode>;
  T x{{1.0, 2.0}, {3.0, 4.0}};
  auto row = x(0);
  row(1) = 50;
  row = row + 1.0;
  CHECK(numbers(row) == Numbers{2, 51});
  CHECK(numbers(x) == Numbers{1, 2, 3, 4});
  x(0) = x(1);
  x[1] += 1;
  CHECK(numbers(x) == Numbers{3, 4, 4, 5});
}

BOTH_MODES("assigning to a temporary that is no part of a name is refused") {
  using T = Tensor<Mode>;
  const T x{1.0, 2.0};
  CHECK_THROWS_WITH_AS(relu(x) = 3, doctest::Contains("has no name, so nobody would see the new value"), GraphError);
  CHECK_THROWS_AS(x.reshape({2, 1}) += 1, GraphError);
}

namespace {

template <class T>
T row_of_copy(const T& x) {
  T copy = x;
  return copy(0);
}

}  // namespace

BOTH_MODES("assigning to a part whose tensor is gone is refused") {
  using T = Tensor<Mode>;
  const T x{{1.0, 2.0}, {3.0, 4.0}};
  const char* gone =
      "assign: the tensor that this part was taken of is gone, so nobody would see the new value; assign to a part of "
      "a tensor that outlives the function: x(index) = v";
  CHECK_THROWS_WITH_AS(row_of_copy(x) = 3, gone, GraphError);
  CHECK_THROWS_WITH_AS(row_of_copy(x) += 3, gone, GraphError);
  CHECK(numbers(row_of_copy(x)) == Numbers{1, 2});
  CHECK(numbers(x) == Numbers{1, 2, 3, 4});
}

BOTH_MODES("parts are forwarded as parts, and moved as tensors of their own") {
  using T = Tensor<Mode>;
  T x{{1.0, 2.0}, {3.0, 4.0}};
  const auto fill = [](auto&& part, const T& v) { std::forward<decltype(part)>(part) = v; };
  fill(x(0), x(1));
  CHECK(numbers(x) == Numbers{3, 4, 3, 4});
  T row = x(0);
  T moved = std::move(row);
  CHECK_THROWS_AS(std::move(moved) = 9, GraphError);
  T y{1.0, 2.0};
  T* const owner = &y;
  T taken = std::move(y);  // what was a part of y is none of `taken`
  CHECK_THROWS_AS((*owner)(0) = 1, GraphError);
  CHECK(numbers(taken) == Numbers{1, 2});
}

TEST_CASE("threads take parts of one tensor") {
  using T = Tensor<Eager>;
  for (int round = 0; round < 50; ++round) {
    T x{{1.0, 2.0}, {3.0, 4.0}};
    std::vector<std::thread> threads;
    std::atomic<int> right = 0;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { right += numbers(x(1)) == Numbers{3, 4}; });
    for (std::thread& thread : threads) thread.join();
    CHECK(right == 4);
  }
}

TEST_CASE("a part through a mask says in lazy mode why it cannot be read, whoever reads it") {
  using T = Tensor<Lazy>;
  T y{1.0, 2.0, 3.0};
  CHECK_THROWS_WITH_AS(printed(y(y > 2)), mask_unread, GraphError);
  CHECK_THROWS_WITH_AS(y(y > 2).shape(), mask_unread, GraphError);
  CHECK_THROWS_WITH_AS(sum(y(y > 2)), mask_unread, GraphError);
  CHECK_THROWS_WITH_AS(y(y > 2) + 1, mask_unread, GraphError);
  CHECK_THROWS_WITH_AS(std::vector{y(y > 2)}, mask_unread, GraphError);
  const T picked = y(y > 2);
  CHECK_THROWS_WITH_AS(picked.to_string(), mask_unread, GraphError);
  T last = y;
  CHECK_THROWS_WITH_AS(last = y(y > 2), mask_unread, GraphError);
  CHECK(numbers(last) == Numbers{1, 2, 3});
  y(y > 2) = 0;
  CHECK(numbers(y) == Numbers{1, 2, 0});
}

BOTH_MODES("a mask of the wrong length is refused by its shape") {
  using T = Tensor<Mode>;
  T y{1.0, 2.0, 3.0};
  const char* told = "index: mask (2,) does not match axes from 0 of shape (3,)";
  CHECK_THROWS_WITH_AS(printed(y(T{true, false})), told, IndexError);
  CHECK_THROWS_WITH_AS(y(T{true, false}) = 0, told, IndexError);
}
