// SPDX-License-Identifier: MIT
// Operators and helpers of the user's own overload with those of tensors, whatever they take, and concepts say which
// types tensors have operators for.
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

BOTH_MODES("operators of the user's own types are called") {
  using T = tyto::Tensor<Mode>;
  const T x{1.0, 2.0};
  CHECK((x + Wrapper<T>(1.0)).text == "tensor+number");
  CHECK((Wrapper<T>(x) + x).text == "tensor+tensor");
  CHECK((2.0 + Wrapper<T>(x)).text == "number+tensor");
  CHECK(x * Unit() == "tensor * unit");
  CHECK(Unit() * x == "unit * tensor");
}

BOTH_MODES("operators of the user's own over lists of tensors are called") {
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

/// Of a program whose operators and helpers are no templates of its own types.
namespace plain_operands_test {
namespace {

using tyto_test::Numbers;
using tyto_test::numbers;
using Eager = tyto::Tensor<tyto::Eager>;
using Lazy = tyto::Tensor<tyto::Lazy>;

struct Name {
  std::string text;
  Name(const char* given) : text(given) {}
};

#define OPERATORS_OF(T)                                                                               \
  std::vector<T> operator*(double factor, const std::vector<T>& list) {                               \
    std::vector<T> products;                                                                          \
    for (const T& each : list) products.push_back(factor* each);                                      \
    return products;                                                                                  \
  }                                                                                                   \
  std::vector<T> operator/(const std::vector<T>& list, double divisor) { return 1 / divisor * list; } \
  std::vector<T> operator-(const std::vector<T>& list, const T& by) {                                 \
    std::vector<T> differences;                                                                       \
    for (const T& each : list) differences.push_back(each - by);                                      \
    return differences;                                                                               \
  }                                                                                                   \
  std::string operator+(const T&, const Name& name) { return "tensor + " + name.text; }               \
  std::string operator*(const T&, const std::string& text) { return "tensor * " + text; }
OPERATORS_OF(Eager)
OPERATORS_OF(Lazy)
#undef OPERATORS_OF

template <class T>
T concat(const T& a, const T& b) {
  return a + b;
}
template <class... T>
std::size_t stack(const T&...) {
  return sizeof...(T);
}
template <class T>
T where(bool condition, const T& a, const T& b) {
  return condition ? a : b;
}

}  // namespace

BOTH_MODES("operators that convert their operands are called") {
  using T = tyto::Tensor<Mode>;
  const std::vector<T> list{T{1.0, 2.0}, T{3.0}};
  CHECK(numbers((2 * list)[0]) == Numbers{2, 4});
  CHECK(numbers((list / 2)[1]) == Numbers{1.5});
  CHECK(numbers((list - 1.0)[0]) == Numbers{0, 1});
  CHECK(list[0] + "name" == "tensor + name");
  CHECK(list[0] * "abc" == "tensor * abc");
}

BOTH_MODES("helpers with names of the library are called") {
  using T = tyto::Tensor<Mode>;
  const T x{1.0, 2.0};
  CHECK(numbers(concat(x, x)) == Numbers{2, 4});
  CHECK(stack(x, x, x) == 3);
  CHECK(numbers(where(false, x, x * 2)) == Numbers{2, 4});
}

}  // namespace plain_operands_test

namespace {

template <class T>
std::string transpose(const T&, int, int) {
  return "two axes";
}
template <class T>
std::string sort(const T&, bool) {
  return "descending";
}
template <class T>
std::string argsort(const T&, const char*) {
  return "descending";
}
template <class T>
std::string concat(const T&, int) {
  return "tensor and number";
}

template <class A, class B>
constexpr bool has_operators() {
  return requires(const A& a, const B& b) { a* b; }
  || requires(const A& a, const B& b) { a + b; }
  || requires(const A& a, const B& b) { b - a; }
  || requires(const A& a, const B& b) { b / a; };
}

BOTH_MODES("concepts say for what tensors have operators") {
  using T = tyto::Tensor<Mode>;
  CHECK(has_operators<T, double>());
  CHECK(has_operators<T, tyto::Tensor<tyto::Any>>());
  CHECK(!has_operators<T, std::string>());
  CHECK(!has_operators<T, const char*>());
  CHECK(!has_operators<std::vector<T>, std::vector<T>>());
  CHECK(!has_operators<std::vector<T>, double>());
  CHECK(!has_operators<std::vector<T>, T>());
}

BOTH_MODES("concepts say that vectors, arrays and texts become no tensors by themselves") {
  using T = tyto::Tensor<Mode>;
  CHECK(!has_operators<T, std::vector<float>>());
  CHECK(!has_operators<T, float[2][2]>());
  CHECK(!has_operators<std::nullptr_t, T>());
  CHECK(std::is_constructible_v<T, const std::vector<float>&>);
  CHECK(std::is_constructible_v<T, const float(&)[2]>);
  CHECK(!std::is_constructible_v<T, const float(&)[2][2]>);
  CHECK(!std::is_constructible_v<T, const char*>);
}

TEST_CASE("a flag is a bool or what converts to one, no text, pointer or number") {
  using tyto::Flag;
  CHECK(std::is_convertible_v<bool, Flag>);
  CHECK(std::is_convertible_v<std::vector<bool>::reference, Flag>);
  CHECK(std::is_convertible_v<std::true_type, Flag>);
  CHECK(!std::is_convertible_v<int, Flag>);
  CHECK(!std::is_convertible_v<double, Flag>);
  CHECK(!std::is_convertible_v<const char*, Flag>);
  CHECK(!std::is_convertible_v<const char(&)[6], Flag>);
  CHECK(!std::is_convertible_v<std::string, Flag>);
  CHECK(!std::is_convertible_v<void*, Flag>);
}

BOTH_MODES("axes are written as one, several, a list or a list in parentheses") {
  using T = tyto::Tensor<Mode>;
  const T x = reshape(T::arange(6), {2, 3});
  const tyto::IntList list{0, 1};
  for (const T& all : {sum(x, {0, 1}), sum(x, tyto::Axes({0, 1})), sum(x, tyto::Axes{0, -1}), sum(x, list), sum(x, {})})
    CHECK(numbers(all) == Numbers{15});
  for (const T& rows : {sum(x, 1), sum(x, {-1}), sum(x, std::size_t{1}), sum(x, {x.ndim() - 1})})
    CHECK(numbers(rows) == Numbers{3, 12});
  CHECK(sum(x, {1, 0}, true).shape() == tyto::Shape{1, 1});
}

BOTH_MODES("helpers that take what the library refuses are called") {
  using T = tyto::Tensor<Mode>;
  const T x{2.0, 1.0};
  CHECK(transpose(x, 0, 1) == "two axes");
  CHECK(sort(x, true) == "descending");
  CHECK(argsort(x, "descending") == "descending");
  CHECK(concat(x, 2) == "tensor and number");
}

}  // namespace
