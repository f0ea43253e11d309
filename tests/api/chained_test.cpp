// SPDX-License-Identifier: MIT
// Chained members, printing and the shorter forms of functions that users of NumPy write, against values from NumPy.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <sstream>

#include "tests/support/printed.hpp"
#include "tyto/fft.hpp"
#include "tyto/linalg.hpp"
#include "tyto/rearranging.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/statistics.hpp"
#include "tyto/tensor.hpp"

using namespace tyto;
using tyto_test::printed;

TEST_CASE_TEMPLATE("members do what the functions of their names do", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x{{1.0, 2.5}, {-3.0, 4.0}};
  CHECK(x.prod().template item<double>() == -30);
  CHECK(array_equal(x.argmax(1), T{1, 1}));
  CHECK(x.argmin().template item<int>() == 2);
  CHECK(x.var().template item<double>() == doctest::Approx(6.796875));
  CHECK(x.std(0, false, 1).template to_vector<double>()[1] == doctest::Approx(1.0606601717798212));
  CHECK(!bool((x > 0).all()));
  CHECK(array_equal((x > 3).any(1), T{false, true}));
  CHECK(array_equal(x.cumsum(1), T{{1.0, 3.5}, {-3.0, 1.0}}));
  CHECK(array_equal(x.clip(0, 3), T{{1.0, 2.5}, {0.0, 3.0}}));
  CHECK(array_equal(x.round(), T{{1.0, 2.0}, {-3.0, 4.0}}));
  CHECK(array_equal(x.dot(T{1.0, 2.0}), T{6.0, 5.0}));
  CHECK(array_equal(x.ravel(), T{1.0, 2.5, -3.0, 4.0}));
  CHECK(x[0].std().template item<double>() == doctest::Approx(0.75));
  const T z{std::complex(1.0, 2.0), std::complex(3.0, -1.0)};
  CHECK(array_equal(z.real(), T{1.0, 3.0}));
  CHECK(array_equal(z.imag(), T{2.0, -1.0}));
  CHECK(array_equal(z.conj().imag(), T{-2.0, 1.0}));
}

TEST_CASE_TEMPLATE("what item() gives without a type prints as a number", M, Eager, Lazy) {
  using T = Tensor<M>;
  CHECK(printed(T{2.5}.item()) == "2.5");
  CHECK(printed(T{-7}.item()) == "-7");
  CHECK(printed(T{true}.item()) == "True");
  CHECK(printed(T{UINT64_MAX}.item()) == "18446744073709551615");
  CHECK(printed(T{std::complex(1.5, -2.0)}.item()) == "1.5-2j");
}

TEST_CASE_TEMPLATE("shorter forms of pad, quantile, cov and fftfreq", M, Eager, Lazy) {
  using T = Tensor<M>;
  CHECK(array_equal(pad(T{{1, 2}}, 1), T{{0, 0, 0, 0}, {0, 1, 2, 0}, {0, 0, 0, 0}}));
  CHECK(array_equal(pad(T{3, 1, 2}, 2, PaddingMode::reflect), T{2, 1, 3, 1, 2, 1, 3}));
  const T x{{1.0, 2.0, 4.0}, {8.0, 16.0, 32.0}};
  CHECK(allclose(quantile(x, {0.1, 0.5}, 1), T{{1.2, 9.6}, {2.0, 16.0}}));
  CHECK(percentile(x, 25).template item<double>() == doctest::Approx(2.5));
  CHECK(allclose(cov(x[0], x[1]), T{{7 / 3.0, 56 / 3.0}, {56 / 3.0, 448 / 3.0}}));
  CHECK(allclose(corrcoef(x[0], T{1.0, 0.0, -1.0}), T{{1.0, -0.98198051}, {-0.98198051, 1.0}}));
  CHECK(array_equal(fft::fftfreq<T>(4), fft::fftfreq<M>(4)));
  CHECK(array_equal(fft::rfftfreq<T>(4, 0.5), T{0.0, 0.5, 1.0}));
  CHECK(array_equal(resize_to(T{1, 2, 3, 4, 5}, {2, 2}), T{{1, 2}, {3, 4}}));
  CHECK(array_equal(resize_to(T{1, 2}, {5}), T{1, 2, 1, 2, 1}));
}
