// SPDX-License-Identifier: MIT
// Complex numbers: creation, promotion, printing, views of their memory, and errors.
#include <cmath>
#include <complex>

#include "core/graph/builder.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using namespace std::complex_literals;

namespace {

using C64 = std::complex<float>;
using C128 = std::complex<double>;

template <class T>
T some() {
  return T{1.0 + 2.0i, 3.0 - 0.5i, -2.0 + 0.0i};
}

}  // namespace

BOTH_MODES("complex numbers are written as std::complex and read as such") {
  using T = Tensor<Mode>;
  const T z = some<T>();
  CHECK(z.dtype() == DType::c64);
  CHECK(z.template to_vector<C64>() == std::vector<C64>{{1, 2}, {3, -0.5f}, {-2, 0}});
  CHECK(T::from(std::vector<C128>{1.5i}, {1}).template to_vector<C128>()[0] == 1.5i);
  CHECK(T(2.0 + 1.0i).template item<C64>() == C64(2, 1));
  CHECK(T::full({2}, 1.5i).template to_vector<C64>() == std::vector<C64>(2, C64(0, 1.5f)));
  CHECK(T::zeros({1}, DType::c128).template item<C128>() == 0.0);
  CHECK(T::eye(2, 2, 0, DType::c64).template to_vector<C64>() == std::vector<C64>{1, 0, 0, 1});
  CHECK(full_like(z, 1i).template to_vector<C64>() == std::vector<C64>(3, C64(0, 1)));
}

BOTH_MODES("a type meets complex ones by the width of its own numbers, and numbers widen nothing") {
  using T = Tensor<Mode>;
  const T z = some<T>();
  for (const DType type : {DType::boolean, DType::u8, DType::i64, DType::f16, DType::bf16, DType::f32}) {
    CHECK(promote(type, DType::c64) == DType::c64);
    CHECK((z + T::ones({3}).astype(type)).dtype() == DType::c64);
  }
  CHECK(promote(DType::c64, DType::f64) == DType::c128);
  CHECK(promote(DType::f32, DType::c128) == DType::c128);
  CHECK((z * 2).dtype() == DType::c64);
  CHECK((z * 2.5i).dtype() == DType::c64);
  CHECK((T{1, 2} * 1i).dtype() == DType::c64);
  CHECK((T{1.0, 2.0}.astype(DType::f64) * 1i).dtype() == DType::c128);
  CHECK((2.0 * some<T>().astype(DType::c128)).dtype() == DType::c128);
}

BOTH_MODES("complex numbers print as NumPy prints them") {
  using T = Tensor<Mode>;
  CHECK(some<T>().to_string() == "[ 1.+2.j   3.-0.5j -2.+0.j ]");
  CHECK(T(2.0 + 1.0i).to_string() == "(2+1j)");
  CHECK(T(2.5i).to_string() == "2.5j");
  CHECK(T(1.0 - 0.5i).astype(DType::c128).to_string() == "(1-0.5j)");
  CHECK(T{1e10 + 1.0i, 1.0 + 1.0i}.to_string() == "[1.e+10+1.j 1.e+00+1.j]");
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  CHECK(T{C128(nan, 1), C128(infinity, -infinity)}.to_string() == "[nan +1.j inf-infj]");
}

BOTH_MODES("parts are views of the numbers, and numbers of their parts") {
  using T = Tensor<Mode>;
  const T z = some<T>();
  CHECK(view_as_real(z).shape() == Shape{3, 2});
  CHECK(tyto_test::numbers(view_as_real(z)) == tyto_test::Numbers{1, 2, 3, -0.5, -2, 0});
  CHECK(view_as_complex(view_as_real(z)).template to_vector<C64>() == z.template to_vector<C64>());
  CHECK(tyto_test::numbers(imag(flip(z))) == tyto_test::Numbers{0, -0.5, 2});
  if constexpr (std::is_same_v<Mode, Eager>) {
    const void* const memory = z.template data<C64>().data();
    const T parts = view_as_real(z), again = view_as_complex(parts);
    CHECK(static_cast<const void*>(parts.template data<float>().data()) == memory);
    CHECK(static_cast<const void*>(again.template data<C64>().data()) == memory);
  }
  // Parts that do not lie beside each other are brought together.
  const T apart = transpose(T{{1.0, 2.0}, {3.0, 4.0}});
  CHECK(view_as_complex(apart).template to_vector<C64>() == std::vector<C64>{{1, 3}, {2, 4}});
  const T odd = T::arange(7).astype(DType::f32)(slice(1, 7)).reshape({3, 2});
  CHECK(view_as_complex(odd).template to_vector<C64>() == std::vector<C64>{{1, 2}, {3, 4}, {5, 6}});
  CHECK(tyto_test::numbers(real(T{1, 2})) == tyto_test::Numbers{1, 2});
  CHECK(tyto_test::numbers(imag(T{1, 2})) == tyto_test::Numbers{0, 0});
  CHECK(conj(T{1, 2}).dtype() == DType::i64);
}

BOTH_MODES("what moves elements moves complex ones of either width") {
  using T = Tensor<Mode>;
  for (const DType type : {DType::c64, DType::c128}) {
    CAPTURE(type);
    const T x = T::arange(12).reshape({3, 4}), z = complex(x.astype(DType::f64), -x.astype(DType::f64)).astype(type);
    const auto agree = [&](const T& moved, const T& expected) {
      CHECK(moved.dtype() == type);
      CHECK(array_equal(real(moved), expected));
      CHECK(array_equal(imag(moved), -expected));
    };
    agree(z.T(), x.T());
    agree(z(slice(2, {}, -1), slice(0, 4, 2)), x(slice(2, {}, -1), slice(0, 4, 2)));
    agree(tile(z, {2, 1}), tile(x, {2, 1}));
    agree(repeat(z, 2, 0), repeat(x, 2, 0));
    agree(roll(z, {1}, Axes(1)), roll(x, {1}, Axes(1)));
    agree(pad(z, {1, 0}, {0, 2}), pad(x, {1, 0}, {0, 2}));
    agree(triu(z), triu(x));
    agree(diag(z(0)), diag(x(0)));
    agree(take(z, T{2, 0}, 0), take(x, T{2, 0}, 0));
    agree(take(z, T{2, 0}, 1), take(x, T{2, 0}, 1));
    agree(take_along_axis(z, T{{1}, {0}, {2}}, 1), take_along_axis(x, T{{1}, {0}, {2}}, 1));
    agree(gather(z, {T{1, 2}, T{0, 3}}), gather(x, {T{1, 2}, T{0, 3}}));
    agree(scatter(z, {T{1}}, z(slice(0, 1))), scatter(x, {T{1}}, x(slice(0, 1))));
    agree(scatter_add(z, {T{1, 1}}, z(slice(0, 2))), scatter_add(x, {T{1, 1}}, x(slice(0, 2))));
    agree(set(z, {0}, z(2)), set(x, {0}, x(2)));
    agree(where(greater(x, 5), z, 0), where(greater(x, 5), x, 0));
    agree(concat(std::vector<T>{z, z}, 1), concat(std::vector<T>{x, x}, 1));
    CHECK(pad(z, {0, 1}, {0, 0}, PaddingMode::constant, 2.0).shape() == Shape{3, 5});
  }
}

BOTH_MODES("functions without a meaning for complex numbers refuse them by name") {
  using T = Tensor<Mode>;
  const T z = some<T>();
  CHECK_THROWS_WITH_AS(
      (void)less(z, z),
      "less: operands of type c64 are not accepted; complex numbers have no order and no such function; "
      "take real, imag or abs of them first",
      TypeError);
  CHECK_THROWS_AS((void)maximum(z, 0), TypeError);
  CHECK_THROWS_AS((void)floor(z), TypeError);
  CHECK_THROWS_AS((void)erf(z), TypeError);
  CHECK_THROWS_AS((void)atan2(z, z), TypeError);
  CHECK_THROWS_WITH_AS((void)sort(z),
                       "sort: elements of type c64 are not accepted; take real, imag or abs of them first", TypeError);
  CHECK_THROWS_AS((void)max(z), TypeError);
  CHECK_THROWS_AS((void)argmax(z), TypeError);
  CHECK_THROWS_AS((void)cummax(z, 0), TypeError);
  CHECK_THROWS_AS((void)median(z), TypeError);
  CHECK_THROWS_AS((void)softmax(z), TypeError);
  CHECK_THROWS_WITH_AS((void)nanmax(z),
                       "nanmax: elements of type c64 have no order; take real, imag or abs of them first", TypeError);
  CHECK_THROWS_AS((void)T::normal({2}, {.dtype = DType::c64}), TypeError);
  CHECK_THROWS_AS((void)T::arange(0, 3, 1, DType::c64), TypeError);
  CHECK_THROWS_WITH_AS((void)complex(z, z), "complex: the parts must be real, not c64 and c64", TypeError);
  CHECK_THROWS_WITH_AS((void)view_as_real(T{1.0}), "view_as_real: complex elements are needed, not f32", TypeError);
  CHECK_THROWS_WITH_AS((void)view_as_complex(T{1, 2}), "view_as_complex: parts of f32 or f64 are needed, not i64",
                       TypeError);
  CHECK_THROWS_WITH_AS((void)view_as_complex(T{1.0, 2.0, 3.0}),
                       "view_as_complex: the last axis must hold real and imaginary part, shape (3,) does not end in 2",
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)grad([](T x) { return sum(x); })(z), "value_and_grad: the loss must be floating, not c64",
                       TypeError);
}

BOTH_MODES("gradients of a real objective are those of its parts") {
  using T = Tensor<Mode>;
  const auto objective = [](const T& z) {
    const T w = exp(z * 0.3i) / (z + 5.0) + matmul(reshape(z, {1, 3}), reshape(z, {3, 1})).reshape({});
    return sum(square(abs(w)) + real(w * conj(z)));
  };
  const T z = some<T>().astype(DType::c128);
  const tyto_test::Numbers gradients = tyto_test::finite_differences<T>(
      [&](const T& parts) { return objective(view_as_complex(parts)); }, tyto_test::numbers(view_as_real(z)), {3, 2});
  const tyto_test::Numbers found = tyto_test::numbers(view_as_real(grad(objective)(z)));
  REQUIRE(found.size() == gradients.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(gradients[i]).epsilon(1e-7));
}

BOTH_MODES("a real operand gets the real part of its gradient") {
  using T = Tensor<Mode>;
  const T z = some<T>();
  const T gradient = grad([&](const T& x) { return sum(real(x * z)); })(T{1.0, 2.0, 3.0});
  CHECK(gradient.dtype() == DType::f32);
  CHECK(tyto_test::numbers(gradient) == tyto_test::Numbers{1, 3, -2});
}

TEST_CASE("complex chains compiled and saved give what eager mode gives, bit for bit") {
  const auto f = [](auto z) { return tanh(z * z + 1i) / (abs(z) + 1) - conj(sqrt(z)); };
  const auto z = complex(Tensor<Eager>::normal({300, 7}), Tensor<Eager>::normal({300, 7}));
  const std::vector<C64> expected = f(z).to_vector<C64>();
  using L = Tensor<Lazy>;
  const L input = L::from(z.to_vector<C64>(), {300, 7});
  CHECK(compile([&](L x) { return f(x); })(input).to_vector<C64>() == expected);
  const L x = L::placeholder({300, 7}, DType::c64, "x");
  Graph graph{{.inputs = {x}, .outputs = {f(x)}}};
  Graph loaded = Graph::from_bytes(graph.to_bytes());
  loaded.set(loaded.inputs()[0], input);
  loaded.run();
  CHECK(loaded.output(0).to_vector<C64>() == expected);
  // A variable of complex numbers is updated like any other.
  L state = L::variable(L{1i});
  assign(state, state * 2i);
  CHECK(state.item<C64>() == C64(-2, 0));
}

BOTH_MODES("loops over complex vectors of any length and layout are right in every element") {
  using T = tyto::Tensor<Mode>;
  using Number = C128;
  for (const DType type : {DType::c64, DType::c128}) {
    const double close = type == DType::c64 ? 1e-5 : 1e-13;
    for (const std::int64_t count : {1, 3, 4, 7, 8, 9, 16, 31, 33, 64, 77}) {
      CAPTURE(type);
      CAPTURE(count);
      std::vector<Number> a, b;
      std::vector<double> r;
      for (std::int64_t i = 0; i < 2 * count; ++i) {
        a.emplace_back(0.5 * static_cast<double>(i) - 7, 3 - 0.25 * static_cast<double>(i));
        b.emplace_back(0.125 * static_cast<double>(i % 11), 1 + 0.5 * static_cast<double>(i % 5));
        r.push_back(0.75 * static_cast<double>(i) - 2);
      }
      const T whole = T::from(a, {2 * count}).astype(type), other = T::from(b, {2 * count}).astype(type);
      const T real_part = T::from(r, {2 * count}).astype(tyto::real_type(type));
      const auto check = [&](const T& found, const auto& expected) {
        const auto elements = found.astype(DType::c128).template to_vector<Number>();
        for (std::size_t i = 0; i < elements.size(); ++i) {
          CAPTURE(i);
          CHECK(std::abs(elements[i] - expected(i)) <= close * (1 + std::abs(expected(i))));
        }
      };
      const T x = narrow(whole, 0, 1, count + 1), y = narrow(other, 0, 0, count);
      check(x + 1, [&](std::size_t i) { return a[i + 1] + 1.0; });
      check(x * y, [&](std::size_t i) { return a[i + 1] * b[i]; });
      check(conj(x), [&](std::size_t i) { return std::conj(a[i + 1]); });
      check(x / y + x, [&](std::size_t i) { return a[i + 1] / b[i] + a[i + 1]; });
      check(exp(y) * Number(0, 1), [&](std::size_t i) { return std::exp(b[i]) * Number(0, 1); });
      check(x * narrow(real_part, 0, 0, count), [&](std::size_t i) { return a[i + 1] * r[i]; });
      check(whole(slice({}, {}, 2)) * y, [&](std::size_t i) { return a[2 * i] * b[i]; });
      check(flip(y) - x, [&](std::size_t i) { return b[static_cast<std::size_t>(count) - 1 - i] - a[i + 1]; });
      check(x.astype(DType::c128) * y, [&](std::size_t i) { return a[i + 1] * b[i]; });
      check(abs(x), [&](std::size_t i) { return Number(std::abs(a[i + 1])); });
      check(where(real(x) > 0, x, y), [&](std::size_t i) { return a[i + 1].real() > 0 ? a[i + 1] : b[i]; });
    }
  }
}

namespace complex_test {

const double not_a_number = std::numeric_limits<double>::quiet_NaN(),
             infinity = std::numeric_limits<double>::infinity();

template <class T>
void check_near(const T& found, const std::vector<C128>& expected) {
  const auto numbers = found.astype(DType::c128).template to_vector<C128>();
  REQUIRE(numbers.size() == expected.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto same = [](double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == doctest::Approx(b); };
    CAPTURE(i);
    CAPTURE(numbers[i]);
    CHECK(same(numbers[i].real(), expected[i].real()));
    CHECK(same(numbers[i].imag(), expected[i].imag()));
  }
}

template <class T>
T of(const std::vector<C128>& numbers, const Shape& shape) {
  return T::from(numbers, shape);
}

}  // namespace complex_test

// Expected values from here on: NumPy 2.4, SciPy and PyTorch.
BOTH_MODES("reductions over what is not NaN leave out complex numbers of which a part is") {
  using namespace complex_test;
  using T = Tensor<Mode>;
  const T x = of<T>({{1, 2}, {not_a_number, 1}, {3, -1}, {0, not_a_number}, {0, 2}, {1, 0}}, {2, 3});
  check_near(nansum(x, 0), {{1, 2}, {0, 2}, {4, -1}});
  check_near(nanprod(x, 1), {{5, 5}, {0, 2}});
  check_near(nanmean(x, 1), {{2, 0.5}, {0.5, 1}});
  check_near(nancumsum(x, 1), {{1, 2}, {1, 2}, {4, 1}, {0, 0}, {0, 2}, {1, 2}});
  check_near(nancumprod(x, 1), {{1, 2}, {1, 2}, {5, 5}, {1, 0}, {0, 2}, {0, 2}});
  CHECK(nanvar(x, 1).template to_vector<double>() == std::vector<double>{3.25, 1.25});
  check_near(nanstd(x, 1, false, 1), {2.5495097567963922, 1.5811388300841898});
  CHECK(nansum(x.astype(DType::c64)).dtype() == DType::c64);
  CHECK(nanvar(x.astype(DType::c64)).dtype() == DType::f32);
}

BOTH_MODES("the variance of what is not NaN is NaN where there are infinities, as NumPy's") {
  using T = Tensor<Mode>;
  const double infinity = std::numeric_limits<double>::infinity();
  const T x =
      T::from(std::vector<double>{infinity, 1, 2, infinity, infinity, std::nan(""), 3, 5, std::nan("")}, {3, 3});
  const std::vector<double> variances = nanvar(x, 1).template to_vector<double>();
  CHECK(std::isnan(variances[0]));
  CHECK(std::isnan(variances[1]));
  CHECK(variances[2] == 1);
  CHECK(std::isnan(nanstd(x.astype(DType::f32)).template item<float>()));
}

BOTH_MODES("nan_to_num replaces what is no number part by part") {
  using namespace complex_test;
  using T = Tensor<Mode>;
  const double most = std::numeric_limits<double>::max();
  check_near(nan_to_num(of<T>({{not_a_number, 1}, {infinity, -infinity}, {2, not_a_number}}, {3})),
             {{0, 1}, {most, -most}, {2, 0}});
}

BOTH_MODES("the direction of an infinite complex number is its axis") {
  using namespace complex_test;
  using T = Tensor<Mode>;
  check_near(sign(of<T>({{infinity, 0},
                         {-infinity, 1},
                         {not_a_number, infinity},
                         {infinity, infinity},
                         {not_a_number, 0},
                         {0, 0},
                         {3, 4}},
                        {7})),
             {{1, 0}, {-1, 0}, {0, 1}, {not_a_number, not_a_number}, {not_a_number, not_a_number}, {0, 0}, {0.6, 0.8}});
}

BOTH_MODES("correlate conjugates what slides") {
  using namespace complex_test;
  using T = Tensor<Mode>;
  const T two = of<T>({{0, 1}, {2, -1}}, {2}), three = of<T>({{0, 1}, {1, 0}, {2, 1}}, {3});
  check_near(correlate(of<T>({{0, 1}, {1, 0}}, {2}), of<T>({{0, 1}}, {1})), {{1, 0}, {0, -1}});
  check_near(correlate(three, two, Overlap::full), {{-1, 2}, {3, 1}, {3, 3}, {1, -2}});
  check_near(correlate(two, three, Overlap::full), {{1, 2}, {3, -3}, {3, -1}, {-1, -2}});
  check_near(correlate(two, three, Overlap::valid), {{3, -3}, {3, -1}});
  check_near(correlate(two, three, Overlap::same), {{3, -3}, {3, -1}, {-1, -2}});
  check_near(correlate(T{1.0, 2.0}, three, Overlap::full), {{2, -1}, {5, -2}, {2, -1}, {0, -2}});
  check_near(compile([](const T& a, const T& b) { return correlate(a, b, Overlap::full); })(three, two),
             {{-1, 2}, {3, 1}, {3, 3}, {1, -2}});
  const T weights = of<T>({{1, 2}, {0, -1}, {0.5, 0}, {2, -1}}, {4});
  const auto loss = [&](const T& a, const T& b) { return sum(real(correlate(a, b, Overlap::full) * weights)); };
  check_near(grad([&](const T& a) { return loss(a, two); })(three), {{-1, -5}, {1, 2.5}, {0, 1.5}});
  check_near(grad([&](const T& b) { return loss(three, b); })(two), {{6.5, 0}, {-1, 0.5}});
}

BOTH_MODES("running products and the powers made of them take complex numbers") {
  using namespace complex_test;
  using T = Tensor<Mode>;
  const T z = of<T>({{1, 1}, {2, -1}, {0, 0.5}, {-1, 2}, {1, -1}}, {5});
  check_near(cumprod(z, 0), {{1, 1}, {3, 1}, {-0.5, 1.5}, {-2.5, -2.5}, {-5, 0}});
  check_near(cumprod(z, 0, {.exclusive = true}), {{1, 0}, {1, 1}, {3, 1}, {-0.5, 1.5}, {-2.5, -2.5}});
  check_near(cumprod(flip(z), 0, {.reverse = true}), {{-5, 0}, {-2.5, -2.5}, {-0.5, 1.5}, {3, 1}, {1, 1}});
  CHECK(cumprod(of<T>({}, {0, 2}), 0).shape() == Shape{0, 2});
  const T weights = of<T>({{1, 2}, {0, -1}, {0.5, 0}, {2, -1}, {0, 1}}, {5});
  check_near(grad([&](const T& x) { return sum(real(cumprod(x, 0) * weights)); })(z),
             {{-7.25, -0.5}, {-0.75, 5.25}, {-13.5, -15.5}, {-1.5, -4.5}, {2.5, 2.5}});
  check_near(vander(of<T>({{1, 1}, {2, -1}}, {2}), 4),
             {{-2, 2}, {0, 2}, {1, 1}, {1, 0}, {2, -11}, {3, -4}, {2, -1}, {1, 0}});
}

BOTH_MODES("unique sorts complex numbers by their real parts, then by their imaginary ones; NaN is one and last") {
  using namespace complex_test;
  using T = Tensor<Mode>;
  const T z = of<T>(
      {{1, 1}, {1, 0}, {0, 5}, {1, 1}, {not_a_number, 0}, {0, not_a_number}, {not_a_number, 1}, {-0.0, -1}, {0, 0}},
      {9});
  const Unique<Mode> found = unique_all(z, {.size = 6});
  check_near(found.values, {{0, -1}, {0, 0}, {0, 5}, {1, 0}, {1, 1}, {0, not_a_number}});
  using Places = std::vector<std::int64_t>;
  CHECK(found.indices.template to_vector<std::int64_t>() == Places{7, 8, 2, 1, 0, 5});
  CHECK(found.inverse.template to_vector<std::int64_t>() == Places{4, 3, 2, 4, 5, 5, 5, 0, 1});
  CHECK(found.counts.template to_vector<std::int64_t>() == Places{1, 1, 1, 1, 2, 3});
  if constexpr (std::is_same_v<Mode, Eager>) CHECK(unique(z).shape() == Shape{6});
}

BOTH_MODES("the exponential of a complex matrix is SciPy's and its gradient PyTorch's") {
  using namespace complex_test;
  using T = Tensor<Mode>;
  const T a = of<T>({{0.1, 0.2}, {0.5, -0.3}, {-0.4, 0.1}, {0.2, 0.6}}, {2, 2});
  check_near(
      linalg::expm(a),
      {{0.96096326, 0.27648098}, {0.65057497, -0.07073963}, {-0.45465887, -0.08608862}, {0.87487464, 0.73113985}});
  const T weights = of<T>({{1, 2}, {0, -1}, {0.5, 0}, {2, -1}}, {2, 2});
  const T gradient = grad([&](const T& x) { return sum(real(linalg::expm(x) * weights)); })(a);
  const T expected = of<T>({{0.2447, -2.0119}, {-0.1859, 1.3468}, {1.5319, -0.4083}, {2.3462, -0.0803}}, {2, 2});
  CHECK(allclose(gradient, expected, 0, 1e-4));
  CHECK(linalg::expm(a.astype(DType::c64)).dtype() == DType::c64);
  CHECK_THROWS_WITH_AS((void)linalg::expm(of<T>({1.0, 2.0}, {1, 2})),
                       "expm: matrices must be square, not of shape (1,2)", ShapeError);
}

BOTH_MODES("rows of complex numbers are divided by what their elements sum up to") {
  using T = Tensor<Mode>;
  auto divided = compile([](T z) { return z / sum(abs(z), -1, true); });
  auto twice = compile([](T z) {
    const T once = z / (sum(abs(z), -1, true) + 1);
    return once / (sum(abs(once), -1, true) + 1);
  });
  auto gradients = compile([](T z) { return grad([](const T& x) { return sum(max(abs(x), -1)); })(z); });
  for (const std::int64_t length : {5, 16, 17, 40, 300, 20000}) {
    for (const std::int64_t rows : {1, 3, 40}) {
      if (rows * length > 100'000) continue;
      CAPTURE(length);
      CAPTURE(rows);
      // Multiples 1, 2, .. of 3 + 4i, whose sizes are 5 times that and sum up to 5 length (length + 1) / 2.
      const T multiples = broadcast_to(T::arange(length).astype(DType::f64) + 1.0, {rows, length});
      const T z = multiples * (3.0 + 4.0i);
      const double total = 2.5 * static_cast<double>(length) * static_cast<double>(length + 1);
      CHECK(allclose(divided(z), multiples * (std::complex<double>(3, 4) / total), 1e-12, 0));
      CHECK(allclose(twice(z), multiples * (std::complex<double>(3, 4) / (2 * total + 1)), 1e-12, 0));
      // The gradient of the largest size is its direction.
      const T largest = equal(multiples, static_cast<double>(length)).astype(DType::f64);
      CHECK(allclose(gradients(z), largest * (0.6 + 0.8i), 1e-12, 1e-15));
    }
  }
}

BOTH_MODES("parts of rows that are one number a row, or one for all, are written to every element") {
  using T = Tensor<Mode>;
  struct Row {
    const char* what;
    std::function<T(const T&)> z, real_part, imaginary_part;  // of x
  };
  const auto average = [](const T& x) { return mean(x, -1, true); };
  const auto across = [](const T& row, const T& x) { return broadcast_to(row, x.shape()); };
  const Row rows[] = {
      {"mean c - x", [&](const T& x) { return average(x) * (0.5 - 1.0i) - x; },
       [&](const T& x) { return 0.5 * average(x) - x; }, [&](const T& x) { return across(-average(x), x); }},
      {"x mean + i", [&](const T& x) { return x * average(x) + 1.0i; }, [&](const T& x) { return x * average(x); },
       [&](const T& x) { return across(T::ones({1}, x.dtype()), x); }},
      {"softmax + mean i", [&](const T& x) { return softmax(x, -1) + average(x) * 1.0i; },
       [&](const T& x) { return softmax(x, -1); }, [&](const T& x) { return across(average(x), x); }},
      {"mean + x i", [&](const T& x) { return average(x) + x * 1.0i; },
       [&](const T& x) { return across(average(x), x); }, [&](const T& x) { return T(x); }},
      {"x + max i, cast",
       [&](const T& x) { return (x - max(x, -1, true)).astype(DType::c128) + max(x, -1, true) * 1.0i; },
       [&](const T& x) { return x - max(x, -1, true); }, [&](const T& x) { return across(max(x, -1, true), x); }},
  };
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-13;
    for (const std::int64_t length : {3, 16, 33, 300}) {
      for (const std::int64_t count : {1, 3, 40}) {
        const T x = sin(T::arange(count * length).reshape({count, length}).astype(dtype));
        for (const Row& row : rows) {
          CAPTURE(row.what);
          CAPTURE(length);
          CAPTURE(count);
          CAPTURE(name_of(dtype));
          auto whole = compile([&](T from) { return row.z(from); });
          auto parts = compile([&](T from) {
            const T z = row.z(from);
            return std::tuple(real(z), imag(z), sum(z, -1), sum(imag(z), -1, true) * z, conj(z));
          });
          const T z = copy(whole(x)), re = copy(row.real_part(x)), im = copy(row.imaginary_part(x));
          CHECK(allclose(real(z), re, tolerance, tolerance));
          CHECK(allclose(imag(z), im, tolerance, tolerance));
          const auto [real_part, imaginary_part, sums, scaled, mirrored] = parts(x);
          CHECK(allclose(real_part, re, tolerance, tolerance));
          CHECK(allclose(imaginary_part, im, tolerance, tolerance));
          CHECK(allclose(imag(sums), sum(im, -1), tolerance, 100 * tolerance));
          CHECK(allclose(real(sums), sum(re, -1), tolerance, 100 * tolerance));
          CHECK(allclose(imag(scaled), sum(im, -1, true) * im, 10 * tolerance, 100 * tolerance));
          CHECK(allclose(imag(mirrored), -im, tolerance, tolerance));
        }
      }
    }
  }
}

BOTH_MODES("complex vectors are convolved whole, as NumPy convolves them") {
  using T = Tensor<Mode>;
  using Numbers = std::vector<C128>;
  const T five = T{1.0i, 1.0 + 0.0i, 1.0 + 0.0i, 1.0 + 0.0i, 1.0 + 0.0i}.astype(DType::c128);
  CHECK(polymul(five, five).template to_vector<C128>() ==
        Numbers{-1.0, 2i, 1.0 + 2i, 2.0 + 2i, 3.0 + 2i, 4.0, 3.0, 2.0, 1.0});
  for (const std::int64_t n : {5, 6, 9, 30}) {
    for (const std::int64_t m : {2, 5, 8}) {
      Numbers a, b;
      for (int i = 0; i < n; ++i) a.emplace_back(std::sin(1.0 + i), std::cos(2.0 * i));
      for (int i = 0; i < m; ++i) b.emplace_back(std::cos(3.0 + i), std::sin(0.5 * i));
      Numbers products(a.size() + b.size() - 1);
      for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < b.size(); ++j) products[i + j] += a[i] * b[j];
      }
      const T expected = T::from(products, {n + m - 1});
      CHECK(allclose(convolve(T::from(a, {n}), T::from(b, {m})), expected, 1e-12, 1e-12));
      // Correlation conjugates its second operand.
      for (C128& number : b) number = std::conj(number);
      CHECK(allclose(correlate(T::from(a, {n}), flip(T::from(b, {m})), Overlap::full), expected, 1e-12, 1e-12));
      CHECK(allclose(convolve(T::from(a, {n}).astype(DType::c64), T{1.0, 0, 0, 0, 0, 0}, Overlap::full),
                     pad(T::from(a, {n}).astype(DType::c64), {0}, {5}), 1e-6, 1e-6));
    }
  }
}

BOTH_MODES("polynomials are fitted to complex numbers") {
  using T = Tensor<Mode>;
  // The real parts lie on a line, the imaginary ones (1, 0, 0) have the line 5/6 - x/2.
  const T fitted = polyfit(T{0.0, 1.0, 2.0}, T{1.0i, 1.0 + 0.0i, 2.0 + 0.0i}.astype(DType::c128), 1);
  CHECK(allclose(fitted, T::from(std::vector<C128>{1.0 - 0.5i, 5.0i / 6.0}, {2}), 1e-12, 1e-12));
}

BOTH_MODES("correlations of complex variables are NumPy's") {
  using T = Tensor<Mode>;
  const T x = T::from(std::vector<C128>{1.0 + 2i, 3.0 - 1i, 0.5i, 2.0, 2.0, 1i, 1.0 - 1i, 4.0 + 1i}, {2, 4});
  const std::vector<C128> expected{1.0, -0.22501364 - 0.1539567i, -0.22501364 + 0.1539567i, 1.0};
  CHECK(allclose(linalg::corrcoef(x), T::from(expected, {2, 2}), 1e-7, 1e-7));
}

BOTH_MODES("numbers that fill tensors keep their imaginary parts and signs in fused loops") {
  using T = Tensor<Mode>;
  auto moved = compile([](T x) { return x * 2.0 + T::full({}, 1.5i, DType::c128); });
  CHECK(moved(T::from(std::vector<C128>{1.0, 2i}, {2})).template to_vector<C128>() ==
        std::vector<C128>{2.0 + 1.5i, 5.5i});
  auto turned = compile([](T x) { return abs(x) * T::full({}, -0.0, x.dtype()); });
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    CHECK(std::signbit(turned(T{1.0, -2.0}.astype(type)).astype(DType::f64).template to_vector<double>()[0]));
  }
}
