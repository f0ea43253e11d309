// x(index) of a name that can be assigned to: a tensor like any other, wherever a value is wanted.
#include <doctest/doctest.h>

#include <functional>
#include <sstream>
#include <tuple>
#include <tyto/tyto.hpp>
#include <utility>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

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

template <class T>
std::string printed(const T& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

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
