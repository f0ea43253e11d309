// SPDX-License-Identifier: MIT
// Functions made of operators give the same bits one by one, through their plan, and recorded in lazy mode, whatever
// the operands are.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

#include <tyto/tyto.hpp>

#include "tests/support/numbers.hpp"

using tyto::DType;
using tyto::Shape;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace planned_call_test {

using T = tyto::Tensor<tyto::Eager>;
using L = tyto::Tensor<tyto::Lazy>;

std::string bytes(const auto& x) {
  const auto wide = x.astype(DType::f64).ravel();
  const std::vector<double> values = numbers(wide);
  std::string out(values.size() * sizeof(double), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i] == values[i] ? values[i] : 0x1p1000;  // any NaN is one value
    std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
  }
  return out;
}

/// More calls than it takes until there is a plan.
constexpr int many = 200;

template <class F>
T after_many(const F& call) {
  for (int i = 0; i < many; ++i) (void)call();
  return call();
}

// Commas between braces would end the macro's argument.
template <class M>
auto poisson(const tyto::Tensor<M>& rate) {
  return tyto::distributions::Poisson<tyto::Tensor<M>>{rate};
}
template <class M>
auto binomial(const tyto::Tensor<M>& count, double probability) {
  return tyto::distributions::Binomial<tyto::Tensor<M>>{count, probability};
}
template <class M>
auto hypergeometric(double good, double bad, const tyto::Tensor<M>& drawn) {
  return tyto::distributions::Hypergeometric<tyto::Tensor<M>>{good, bad, drawn};
}

template <class F>
void compare(const char* name, DType type, const T& first, const T& second, const F& call) {
  CAPTURE(name);
  CAPTURE(tyto::name_of(type));
  const T a = first.astype(type), b = second.astype(type);
  const std::string once = bytes(call(a, b));
  CHECK(once == bytes(call(L(numbers(a)).astype(type), L(numbers(b)).astype(type))));
  T last;
  for (int i = 0; i < many; ++i) last = call(a, b);
  CHECK(once == bytes(last));
}

TEST_CASE("plans of functions compute the bits that their operators do, one by one or recorded") {
  const double none = std::numeric_limits<double>::quiet_NaN(), ever = std::numeric_limits<double>::infinity();
  std::vector<double> x_numbers, y_numbers;
  for (int i = 0; i < 301; ++i) {
    x_numbers.push_back(i % 17 == 0 ? none : i % 23 == 0 ? -ever : (i * 37 % 101 - 50) / 8.0);
    y_numbers.push_back(i % 19 == 0 ? ever : i % 5 == 0 ? x_numbers.back() : (i * 53 % 89 - 40) / 16.0);
  }
  const T first(x_numbers), second(y_numbers);
  for (const DType type : {DType::f32, DType::f64, DType::f16}) {
#define COMPARE(expression)                 \
  compare(#expression, type, first, second, \
          []([[maybe_unused]] const auto& x, [[maybe_unused]] const auto& y) { return expression; });
    COMPARE(isclose(x, y))
    COMPARE(isclose(x, 0.5, 0.25, 0.125, true))
    COMPARE(nan_to_num(x, 3))
    COMPARE(sinc(x))
    COMPARE(poisson(abs(y)).log_prob(floor(abs(x))))
    COMPARE(binomial(40 + 0 * x, 0.3).log_prob(floor(abs(x * 8))))
    COMPARE(hypergeometric(30, 50, floor(abs(y))).log_prob(floor(abs(x * 4))))
    COMPARE(heaviside(x, 0.25))
    COMPARE(nextafter(x, y))
    COMPARE(logaddexp2(x, y))
    COMPARE(signbit(x))
    COMPARE(isposinf(x))
    COMPARE(gradient(y, 0, 2))
    COMPARE(gradient(x.reshape({43, 7}), 1, 0.5, 2))
    COMPARE(unwrap(y, 0, 4))
    COMPARE(diff(y, 2))
    COMPARE(diff(x.reshape({43, 7}), 3, 0))
    COMPARE(resize(y.reshape({1, 43, 7, 1}), {60, 5}))
    COMPARE(resize(x.reshape({7, 1, 43}), 70, {.method = tyto::Interpolation::cubic, .layout = tyto::nchw}))
    COMPARE(correlate(x, narrow(y, 0, 1, 4), tyto::Overlap::same))
    COMPARE(convolve(narrow(y, 0, 1, 4), y))
    COMPARE(leaky_relu(x, 0.1))
    COMPARE(elu(x, 2))
    COMPARE(l2_norm(exp2(-abs(nan_to_num(y, 3, 4.0, 5.0)))))
    COMPARE(l2_norm_sqr(x))
    COMPARE(tyto::block<typename std::decay_t<decltype(x)>::mode>({{x, y}, {y, x}}))
#undef COMPARE
  }
}

TEST_CASE("packed bits and products of complex numbers go by plans that give what was computed without") {
  const T bits{1, 0, 1, 1, 0, 0, 0, 1, 1};
  CHECK(numbers(after_many([&] { return packbits(bits); })) == Numbers{177, 128});
  CHECK(numbers(after_many([&] { return packbits(bits, {}, tyto::BitOrder::little); })) == Numbers{141, 1});
  const T bytes_of_bits = packbits(bits);
  CHECK(numbers(after_many([&] { return unpackbits(bytes_of_bits, {}, 9); })) == numbers(bits));
  CHECK(numbers(after_many([&] { return unpackbits(bytes_of_bits, {}, -7); })) == numbers(bits));
  // 1 + i thirty-five times, a quarter turn each other time.
  const T z = T(T::ones({35})).astype(DType::c128) * tyto::complex(T(1.0), T(1.0));
  const T product = after_many([&] { return z.prod(); });
  CHECK(numbers(real(product)) == Numbers{-131072});
  CHECK(numbers(imag(product)) == Numbers{131072});
  std::vector<double> parts;
  for (int i = 0; i < 2 * 3 * 35; ++i) parts.push_back((i * 37 % 101 - 50) / 64.0);
  for (const DType type : {DType::c64, DType::c128}) {
    CAPTURE(type);
    const T pairs = reshape(T(parts), {3, 35, 2});
    const T rows = tyto::complex(pairs(tyto::all, tyto::all, 0), pairs(tyto::all, tyto::all, 1)).astype(type);
    const auto same_by_plan = [](const auto& call) {
      const auto parts_of = [](const T& of) { return bytes(tyto::real(of)) + bytes(tyto::imag(of)); };
      const std::string once = parts_of(call());
      CHECK(parts_of(after_many(call)) == once);
    };
    same_by_plan([&] { return dot(rows(0), rows(1)); });
    same_by_plan([&] { return vecdot(rows, rows(2)); });
    same_by_plan([&] { return vecdot(rows, flip(rows), 0); });
    same_by_plan([&] { return prod(rows, 0); });
    same_by_plan([&] { return prod(rows, 1, true); });
    same_by_plan([&] { return prod(rows.T()); });
  }
}

TEST_CASE("a plan serves the numbers, types, shapes and threads that it was made for") {
  const T x{-1, 0, 2};
  CHECK(numbers(after_many([&] { return heaviside(x, 0.5); })) == Numbers{0, 0.5, 1});
  CHECK(numbers(heaviside(x, 0.75)) == Numbers{0, 0.75, 1});
  CHECK(numbers(heaviside(T{0, 3}, 0.5)) == Numbers{0.5, 1});
  CHECK(heaviside(x.astype(DType::f64), 0.5).dtype() == DType::f64);
  CHECK(numbers(after_many([&] { return nan_to_num(T{NAN, 2}, 5); })) == Numbers{5, 2});
  CHECK(numbers(after_many([&] { return nan_to_num(T{NAN, 2}, 5, 7.0); })) == Numbers{5, 2});
  CHECK(numbers(nan_to_num(T{INFINITY, 2}, 5, 9.0)) == Numbers{9, 2});
  const int before = tyto::threads();
  tyto::threads(before == 1 ? 2 : 1);
  CHECK(numbers(heaviside(x, 0.5)) == Numbers{0, 0.5, 1});
  tyto::threads(before);
  std::thread([&] { CHECK(numbers(after_many([&] { return heaviside(x, 0.5); })) == Numbers{0, 0.5, 1}); }).join();
}

TEST_CASE("views and variables take plans, taped operands do not, and both give the same numbers") {
  const T x{{1, 2, 4}, {3, 9, 27}};
  const T columns = x.T();
  CHECK(numbers(after_many([&] { return nan_to_num(columns); })) == Numbers{1, 3, 2, 9, 4, 27});
  const T repeated = broadcast_to(T{-1, 2}, {3, 2});
  CHECK(numbers(after_many([&] { return heaviside(repeated, 0.5); })) == Numbers{0, 1, 0, 1, 0, 1});
  T w = T::variable(T{-1, 0, 2});
  CHECK(numbers(after_many([&] { return heaviside(w, 0.5); })) == Numbers{0, 0.5, 1});
  assign(w, T{0, 0, -1});
  CHECK(numbers(heaviside(w, 0.5)) == Numbers{0.5, 0.5, 0});
  const T y{-2.0, 3.0};
  auto gradient = tyto::grad([](const T& of) { return sum(square(nan_to_num(of))); });
  CHECK(numbers(after_many([&] { return nan_to_num(y); })) == Numbers{-2, 3});
  CHECK(numbers(gradient(y)) == Numbers{-4, 6});
  // A result is its caller's: the next call leaves it alone.
  const T kept = nan_to_num(y);
  (void)nan_to_num(T{8.0, 9.0});
  CHECK(numbers(kept) == Numbers{-2, 3});
  CHECK(nan_to_num(T::zeros({0})).shape() == Shape{0});
}

TEST_CASE("a plan for a tensor without axes does not serve a number that was computed") {
  const T halves = T{0.5, 1.5}.astype(DType::f16);
  const T number = T(0.125) + T(0.125);
  const T tensor = T::full({}, 0.25, number.dtype());
  const DType beside_number = (halves + number).dtype(), beside_tensor = (halves + tensor).dtype();
  CHECK(after_many([&] { return logaddexp2(halves, tensor); }).dtype() == beside_tensor);
  CHECK(after_many([&] { return logaddexp2(halves, number); }).dtype() == beside_number);
  CHECK(after_many([&] { return logaddexp2(halves, tensor); }).dtype() == beside_tensor);
}

}  // namespace planned_call_test
