// SPDX-License-Identifier: MIT
// What is no operand of a tensor is refused by the compiler, but never where a type of the user's own has an operator
// for it.
#include <doctest/doctest.h>

#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

namespace operands_test {
namespace {

using tyto_test::Numbers;
using tyto_test::numbers;

/// Made of tensors and numbers without being asked, as symbolic wrappers are.
template <class T>
struct Wrapper {
  std::string text;
  Wrapper(const T&) : text("tensor") {}
  Wrapper(double) : text("number") {}
  explicit Wrapper(std::string given) : text(std::move(given)) {}
  friend Wrapper operator+(const Wrapper& a, const Wrapper& b) { return Wrapper(a.text + "+" + b.text); }
};

/// Has operators with tensors, one of them for tensors of any mode.
struct Unit {
  template <class M>
  friend std::string operator*(const tyto::Tensor<M>&, const Unit&) {
    return "tensor * unit";
  }
  friend std::string operator*(const Unit&, const tyto::Tensor<tyto::Lazy>&) { return "unit * tensor"; }
  friend std::string operator*(const Unit&, const tyto::Tensor<tyto::Eager>&) { return "unit * tensor"; }
};

template <class T>
std::vector<T> operator+(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> sums;
  for (std::size_t i = 0; i < a.size(); ++i) sums.push_back(a[i] + b[i]);
  return sums;
}
template <class S, class T>
std::vector<T> operator*(const S& factor, const std::vector<T>& list) {
  std::vector<T> products;
  for (const T& each : list) products.push_back(factor * each);
  return products;
}
template <class T>
std::vector<T>& operator+=(std::vector<T>& a, const std::vector<T>& b) {
  return a = a + b;
}

}  // namespace

BOTH_MODES("operators of the user's own types are preferred to refusals") {
  using T = tyto::Tensor<Mode>;
  const T x{1.0, 2.0};
  CHECK((x + Wrapper<T>(1.0)).text == "tensor+number");
  CHECK((Wrapper<T>(x) + x).text == "tensor+tensor");
  CHECK((2.0 + Wrapper<T>(x)).text == "number+tensor");
  CHECK(x * Unit() == "tensor * unit");
  CHECK(Unit() * x == "unit * tensor");
}

BOTH_MODES("operators of the user's own over lists of tensors are preferred to refusals") {
  using T = tyto::Tensor<Mode>;
  std::vector<T> list{T{1.0, 2.0}, T{3.0}};
  list += 0.5 * list + list;
  CHECK(numbers(list[0]) == Numbers{2.5, 5});
  CHECK(numbers(list[1]) == Numbers{7.5});
}

BOTH_MODES("what holds tensors keeps the operators of the standard library") {
  using T = tyto::Tensor<Mode>;
  std::vector<T> list{T(1.0), T(2.0), T(3.0)};
  CHECK(list.end() - list.begin() == 3);
  CHECK(numbers(*(list.begin() + 1)) == Numbers{2});
  CHECK(numbers(*(1 + list.rbegin())) == Numbers{2});
  CHECK((std::make_move_iterator(list.begin()) != std::make_move_iterator(list.end())));
  const std::optional<T> none;
  CHECK((none == std::nullopt));
  const std::function<T(T)> empty;
  CHECK((empty == nullptr));
}

}  // namespace operands_test
