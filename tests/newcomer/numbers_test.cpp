// SPDX-License-Identifier: MIT
// First steps of a user of NumPy: slices, histograms, single numbers.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <tyto/tyto.hpp>
#include <utility>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {
template <class T>
concept ShowsElements = requires(T x) {
  std::forward<T>(x).template data<float>()[0];
};
template <class T>
concept ShowsBytes = requires(T x) {
  std::forward<T>(x).bytes()[0];
};
}  // namespace

BOTH_MODES("arrays, spans and vectors become tensors of one axis") {
  using T = Tensor<Mode>;
  const float plain[3] = {1, 2, 3};
  const std::array<double, 2> fixed{4, 5};
  const std::array<bool, 2> truths{true, false};
  CHECK(numbers(T(plain)) == Numbers{1, 2, 3});
  CHECK(T(plain).dtype() == DType::f32);
  CHECK(numbers(T(fixed)) == Numbers{4, 5});
  CHECK(T(fixed).dtype() == DType::f64);
  CHECK(T(truths).dtype() == DType::boolean);
  CHECK(numbers(T(std::span<const float>(plain, 2))) == Numbers{1, 2});
  CHECK(numbers(T(std::vector<int>{7, 8})) == Numbers{7, 8});
  CHECK(numbers(T::from(std::span<const float>(plain), {3, 1})) == Numbers{1, 2, 3});
  CHECK(!std::is_convertible_v<std::array<double, 2>, T>);
  CHECK(!std::is_constructible_v<T, std::vector<std::string>>);
}

BOTH_MODES("einsum takes its operands one after the other, as NumPy's does") {
  using T = Tensor<Mode>;
  const T a{{1.0, 2.0}, {3.0, 4.0}}, b{5.0, 6.0};
  CHECK(numbers(einsum("ij->ji", a)) == Numbers{1, 3, 2, 4});
  CHECK(numbers(einsum("ij,j->i", a, b)) == Numbers{17, 39});
  CHECK(numbers(einsum("i,ij,j->", b, a, b)) == Numbers{319});
}

BOTH_MODES("slice(3) is :3") {
  const Tensor<Mode> x = Tensor<Mode>::arange(6);
  CHECK(numbers(x(slice(3))) == Numbers{0, 1, 2});
  CHECK(numbers(x(slice(-2))) == Numbers{0, 1, 2, 3});
}

// np.histogram(v, bins), NumPy 1.24.
BOTH_MODES("histogram(v, 4) makes edges from the smallest to the largest element") {
  using T = Tensor<Mode>;
  const Histogram<Mode> of_floats = histogram(T{1.0, 2.0, 2.0, 3.0, 9.0}, 4);
  CHECK(numbers(of_floats.counts) == Numbers{3, 1, 0, 1});
  CHECK(numbers(of_floats.edges) == Numbers{1, 3, 5, 7, 9});
  const Histogram<Mode> of_integers = histogram(T{3, 1, 4, 1, 5, 9, 2, 6}, 4);
  CHECK(numbers(of_integers.counts) == Numbers{3, 2, 2, 1});
  CHECK(of_integers.edges.dtype() == DType::f64);
  const Histogram<Mode> of_equal = histogram(T{2.0, 2.0}, 2);
  CHECK(numbers(of_equal.counts) == Numbers{0, 2});
  CHECK(numbers(of_equal.edges) == Numbers{1.5, 2, 2.5});
  const Histogram<Mode> of_none = histogram(T::zeros(0), 2);
  CHECK(numbers(of_none.counts) == Numbers{0, 0});
  CHECK(numbers(of_none.edges) == Numbers{0, 0.5, 1});
  CHECK_THROWS_WITH_AS(histogram(T{1.0}, 0), "histogram: 0 bins; at least one is needed", ValueError);
}

BOTH_MODES("histogram refuses a given range that is not finite, and in eager mode that of the elements") {
  using T = Tensor<Mode>;
  const double inf = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(histogram(T{1.0, 2.0}, 4, 0, inf), "histogram: the range from 0 to inf is not finite",
                       ValueError);
  if constexpr (std::is_same_v<Mode, Eager>) {
    CHECK_THROWS_WITH_AS(histogram(T{1.0, inf}, 4),
                         "histogram: the elements' range, from 1 to inf, is not finite; give one: histogram(x, 4, low, "
                         "high), or pass over NaN: {.ignore_nan = true}",
                         ValueError);
  }
}

// np.histogram(v, bins, range, density=True), NumPy 1.24.
BOTH_MODES("a histogram of densities has the integral 1") {
  using T = Tensor<Mode>;
  const T v{1.0, 2.0, 2.0, 3.0, 9.0};
  CHECK(numbers(histogram(v, 4, {.density = true}).counts) == numbers(T{0.3, 0.1, 0.0, 0.1}));
  CHECK(numbers(histogram(v, 2, 0, 4, {.density = true}).counts) == Numbers{0.125, 0.375});
  const Histogram<Mode> uneven = histogram(v, T{0.0, 2.0, 3.0, 11.0}, {.density = true});
  CHECK(numbers(uneven.counts) == numbers(T{0.1, 0.4, 0.05}));
  CHECK(numbers(uneven.edges) == Numbers{0, 2, 3, 11});
  const Histogram<Mode> of_integers = histogram(T{3, 1, 4, 1, 5, 9, 2, 6}, T{0, 4, 16}, {.density = true});
  CHECK(of_integers.counts.dtype() == DType::f64);
  CHECK(numbers(of_integers.counts) == Numbers{4 / 4. / 8, 4 / 12. / 8});
  CHECK(std::isnan(numbers(histogram(v, 1, 20, 30, {.density = true}).counts)[0]));  // nothing lies there
  CHECK(numbers(histogram(v, T{0.0, 2.0, 3.0}, {}).counts) == Numbers{1, 3});
}

BOTH_MODES("NaN is not counted in a given range, and has none unless it is passed over") {
  using T = Tensor<Mode>;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const T v{nan, 1.0, 2.0, nan, 5.0};
  CHECK(numbers(histogram(v, 2, 0, 4).counts) == Numbers{1, 1});
  CHECK(numbers(histogram(v, 2, 0, 4, {.density = true}).counts) == Numbers{0.25, 0.25});
  CHECK(numbers(histogram(v, T{0.0, 2.0, 8.0}, {}).counts) == Numbers{1, 2});
  const Histogram<Mode> of_others = histogram(v, 2, {.ignore_nan = true});
  CHECK(numbers(of_others.counts) == Numbers{2, 1});
  CHECK(numbers(of_others.edges) == Numbers{1, 3, 5});
  if constexpr (std::is_same_v<Mode, Eager>) {
    CHECK_THROWS_WITH_AS(histogram(v, 2), doctest::Contains("is not finite; give one: histogram(x, 2, low, high)"),
                         ValueError);
    CHECK_THROWS_AS(histogram(T{nan, nan}, 2, {.ignore_nan = true}), ValueError);
  }
}

BOTH_MODES("x.item() == 2 compares numbers, whatever their kinds") {
  using T = Tensor<Mode>;
  CHECK(T(2.0).item() == 2);
  CHECK(T(2).item() == 2.0);
  CHECK(T(true).item() == 1);
  CHECK(T(-0.0).item() == 0);
  CHECK(T(2.0).item() == T(2).item());
  CHECK_FALSE(T(2.5).item() == 2);
  CHECK_FALSE(T(std::nan("")).item() == T(std::nan("")).item());
  CHECK(T::full({}, std::complex<float>(2, 0), DType::c64).item() == 2);
  CHECK_FALSE(T::full({}, std::complex<float>(2, 1), DType::c64).item() == 2);
  // 2^53 + 1 and the ends of the 64-bit integers round to floating-point numbers that they are not.
  CHECK_FALSE(Scalar(9007199254740993) == 9007199254740992.0);
  CHECK_FALSE(Scalar(INT64_MAX) == 0x1p63);
  CHECK_FALSE(Scalar(UINT64_MAX) == 0x1p64);
  CHECK(Scalar(std::uint64_t{1} << 63) == 0x1p63);
  CHECK_FALSE(Scalar(std::uint64_t{1} << 63) == INT64_MIN);
  CHECK(Scalar(INT64_MIN) == -0x1p63);
}

BOTH_MODES("float f = x.item() reads the number") {
  using T = Tensor<Mode>;
  const float single = T(2.5).item();
  const double wide = T::full({}, 0.1, DType::f64).item();
  const int whole = T(3.0).item();
  const std::int64_t large = T::full({}, INT64_MAX).item();
  const bool truth = T(true).item();
  CHECK(single == 2.5F);
  CHECK(wide == 0.1);
  CHECK(whole == 3);
  CHECK(large == INT64_MAX);
  CHECK(truth);
  CHECK(T(2.5).item() == 2.5);
  CHECK_THROWS_WITH_AS((void)static_cast<int>(T(2.5).item()), "item: the type that it is read as does not hold 2.5",
                       TypeError);
  CHECK_THROWS_AS((void)static_cast<std::uint8_t>(T(-1).item()), TypeError);
  CHECK_THROWS_AS((void)static_cast<std::uint8_t>(T(256).item()), TypeError);
  CHECK_THROWS_AS((void)static_cast<std::int64_t>(T::full({}, 0x1p63, DType::f64).item()), TypeError);
}

BOTH_MODES("a 0-d tensor prints as a number, whatever its type") {
  using T = Tensor<Mode>;
  std::ostringstream out;
  out << T::full({}, 0.1, DType::f64) << ' ' << T::full({}, 3, DType::u8) << ' ' << T(1.5);
  CHECK(out.str() == "0.1 3 1.5");
  CHECK(T{0.5}.astype(DType::f64).to_string() == "[0.5] dtype=f64");
}

BOTH_MODES("if (x > 0) of several elements says that it is ambiguous") {
  const Tensor<Mode> x{1.0, -1.0};
  CHECK_THROWS_WITH_AS(static_cast<void>(x > 0 ? 1 : 0),
                       "bool: the truth of a tensor of shape (2,) is ambiguous; use any() or all()", ValueError);
  CHECK((x(0) > 0 ? 1 : 0) == 1);
}

BOTH_MODES("data() and bytes() show the elements of a name, not of a temporary, which would be gone") {
  using T = Tensor<Mode>;
  CHECK(ShowsElements<T&>);
  CHECK(ShowsElements<const T&>);
  CHECK(!ShowsElements<T>);
  CHECK(!ShowsElements<const T>);  // such as a part of a const name
  CHECK(ShowsBytes<T&>);
  CHECK(!ShowsBytes<T>);
  const T a{1.5, 2.5}, next = a + 1;
  double total = 0;
  for (const float each : next.template data<float>()) total += static_cast<double>(each);
  CHECK(total == 6);
  CHECK((a + 1).template to_vector<float>()[1] == 3.5);
}

// x = np.array([-1, 0.5, 2]); (0 < x) & (x < 1)
BOTH_MODES("0 < x < 1 is refused, and what it means is written with &") {
  using T = Tensor<Mode>;
  const T x{-1.0, 0.5, 2.0}, low{0.0, 0.0, 0.0}, high{1.0, 1.0, 1.0};
  const char* told =
      "a comparison of truths with numbers, as in 0 < x < 1: write (0 < x) & (x < 1); of truths as numbers less(a, b)";
  CHECK_THROWS_WITH_AS((void)((0 < x) < 1), told, TypeError);
  CHECK_THROWS_WITH_AS((void)((0 <= x) <= 1.0), told, TypeError);
  CHECK_THROWS_WITH_AS((void)((low <= x) <= high), told, TypeError);
  CHECK_THROWS_WITH_AS((void)((2 > x) > 0), told, TypeError);
  CHECK_THROWS_WITH_AS((void)((2 >= x) >= 0), told, TypeError);
  const T positive = 0 < x;
  CHECK(numbers(positive > 0) == Numbers{0, 1, 1});
  CHECK(numbers(positive < 0.5) == Numbers{1, 0, 0});
  CHECK(numbers(isnan(x) < 1) == Numbers{1, 1, 1});
  T part = positive;
  CHECK(numbers(part(0) < 1) == Numbers{1});
  CHECK(numbers((0 < x) & (x < 1)) == Numbers{0, 1, 0});
  CHECK(numbers(less(positive, 1)) == Numbers{1, 0, 0});
  CHECK(numbers(positive < T{true, true, false}) == Numbers{1, 0, 0});
  CHECK(numbers(positive == 1) == Numbers{0, 1, 1});
  CHECK(numbers(positive >= true) == Numbers{0, 1, 1});
}

BOTH_MODES("temporaries and tensors of any mode are ordered beside those of a mode") {
  using T = Tensor<Mode>;
  const T x{-1.0, 0.5, 2.0};
  const Tensor<Any> any(x.value());
  CHECK(numbers(abs(any) < x * 2) == Numbers{0, 1, 1});
  CHECK(numbers(abs(any) < x) == Numbers{0, 0, 0});
  CHECK(numbers(x * 2 <= any) == Numbers{1, 0, 0});
  CHECK(numbers(x > abs(any)) == Numbers{0, 0, 0});
  CHECK(numbers(any >= x * 2) == Numbers{1, 0, 0});
  CHECK(numbers(abs(any) > 0.75) == Numbers{1, 0, 1});
  CHECK_THROWS_AS((void)((any > 0) < x), TypeError);
  CHECK_THROWS_AS((void)((x > 0) < any), TypeError);
}

BOTH_MODES("keepdims is a bool, several axes are a list") {
  using T = Tensor<Mode>;
  const T x{{1, 2}, {3, 4}};
  CHECK(numbers(sum(x, {0, 1})) == Numbers{10});
  CHECK(sum(x, {0, 1}, true).shape() == Shape{1, 1});
  const std::vector<bool> answers{true};
  CHECK(x.max(std::size_t{1}, bool(answers[0])).shape() == Shape{2, 1});
  CHECK(std::is_constructible_v<Axes, std::size_t>);
  CHECK(!std::is_constructible_v<Axes, bool>);
}
