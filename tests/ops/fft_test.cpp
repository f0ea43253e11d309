// SPDX-License-Identifier: MIT
// Fourier transforms of random sizes against their definition, along any axis, and what is refused.
#include <cmath>
#include <complex>
#include <random>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"
#include "tyto/fft.hpp"

using namespace tyto;
using namespace std::complex_literals;
using tyto_test::numbers;

namespace {

using C = std::complex<double>;
using T = Tensor<Eager>;

/// The sum itself, each root of unity by its exact angle.
std::vector<C> by_definition(const std::vector<C>& x) {
  const std::size_t n = x.size();
  std::vector<C> roots, out;
  for (std::size_t k = 0; k < n; ++k) {
    roots.push_back(std::polar(1.0, -2 * 3.14159265358979323846 * static_cast<double>(k) / static_cast<double>(n)));
  }
  for (std::size_t k = 0; k < n; ++k) {
    C sum = 0;
    for (std::size_t j = 0, turn = 0; j < n; ++j, turn = (turn + k) % n) sum += x[j] * roots[turn];
    out.push_back(sum);
  }
  return out;
}

double distance(const T& found, const std::vector<C>& expected) {
  const std::vector<C> got = found.astype(DType::c128).to_vector<C>();
  REQUIRE(got.size() == expected.size());
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    apart += std::norm(got[i] - expected[i]);
    size += std::norm(expected[i]);
  }
  return size == 0 ? std::sqrt(apart) : std::sqrt(apart / size);
}

}  // namespace

TEST_CASE("transforms of every length up to 130 and of random ones up to 2,000 are the sums they stand for") {
  std::mt19937 random(5);
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 1; n <= 130; ++n) lengths.push_back(n);
  // Products of primes for which sums and Bluestein's convolution compete, with and without company that fills vectors.
  for (const std::int64_t n :
       {7 * 7 * 7, 7 * 11 * 13, 31 * 31, 37 * 8, 37 * 7, 41 * 43, 47 * 9, 61 * 31, 59 * 16, 61 * 8}) {
    lengths.push_back(n);
  }
  for (int i = 0; i < 40; ++i) lengths.push_back(131 + static_cast<std::int64_t>(random() % 1870));
  for (const std::int64_t n : lengths) {
    CAPTURE(n);
    const T z = complex(T::normal({n}, {.dtype = DType::f64}), T::normal({n}, {.dtype = DType::f64}));
    const std::vector<C> x = z.to_vector<C>(), expected = by_definition(x);
    CHECK(distance(fft::fft(z), expected) < 2e-15);
    CHECK(distance(fft::fft(z.astype(DType::c64)), expected) < 1e-6);
    CHECK(distance(fft::ifft(fft::fft(z)), x) < 2e-15);
    const T half = fft::rfft(real(z));
    const std::vector<C> whole = by_definition(real(z).astype(DType::c128).to_vector<C>());
    CHECK(distance(half, std::vector<C>(whole.begin(), whole.begin() + n / 2 + 1)) < 2e-15);
    CHECK(distance(fft::rfft(real(z).astype(DType::f32)), std::vector<C>(whole.begin(), whole.begin() + n / 2 + 1)) <
          1e-6);
    CHECK(bool(max(abs(fft::irfft(half, {.n = n}) - real(z))) < 1e-13));
  }
}

TEST_CASE("lines of a stack, which are transformed a vector of them at a time, are the sums they stand for") {
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 1; n <= 66; ++n) lengths.push_back(n);
  for (const std::int64_t n : {99, 100, 101, 125, 127, 128, 198, 256, 361, 405}) lengths.push_back(n);
  constexpr std::int64_t lines = 19;
  for (const std::int64_t n : lengths) {
    CAPTURE(n);
    const T z = complex(T::normal({lines, n}, {.dtype = DType::f64}), T::normal({lines, n}, {.dtype = DType::f64}));
    std::vector<C> expected, halves;
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::vector<C> all = by_definition(z(line).to_vector<C>());
      const std::vector<C> whole = by_definition(real(z(line)).astype(DType::c128).to_vector<C>());
      expected.insert(expected.end(), all.begin(), all.end());
      halves.insert(halves.end(), whole.begin(), whole.begin() + n / 2 + 1);
    }
    CHECK(distance(fft::fft(z), expected) < 2e-15);
    CHECK(distance(fft::fft(z.astype(DType::c64)), expected) < 1e-6);
    CHECK(distance(fft::ifft(fft::fft(z)), z.to_vector<C>()) < 2e-15);
    const T x = copy(real(z)), half = fft::rfft(x);
    CHECK(distance(half, halves) < 2e-15);
    CHECK(distance(fft::rfft(x.astype(DType::f32)), halves) < 1e-6);
    CHECK(bool(max(abs(fft::irfft(half, {.n = n}) - x)) < 1e-13));
    CHECK(bool(max(abs(fft::irfft(half.astype(DType::c64), {.n = n}) - x)) < 2e-5));
    // Lines of which only a part is read, and lines longer than what there is.
    const T wide = pad(z, IntList{0, 3}, IntList{0, 4});
    CHECK(distance(fft::fft(wide(all, slice(3, 3 + n))), expected) < 2e-15);
    CHECK(distance(fft::fft(pad(z, IntList{0, 0}, IntList{0, 4}), {.n = n}), expected) < 2e-15);
    CHECK(distance(fft::fft(z, {.n = n + 5}), fft::fft(pad(z, IntList{0, 0}, IntList{0, 5})).to_vector<C>()) < 2e-15);
  }
}

TEST_CASE("lines along any axis of tensors that lie in any way are transformed alike") {
  for (const DType type : {DType::c64, DType::c128}) {
    CAPTURE(type);
    for (const std::int64_t n : {5, 8, 16, 17, 30, 100}) {
      CAPTURE(n);
      const T z = T::normal({n, 19, 3}).astype(type) * (1.0 + 0.5i);
      const auto close = [&](const T& a, const T& b) {
        return bool(max(abs(a - b)) < (type == DType::c64 ? 2e-5 : 1e-13));
      };
      const T expected = moveaxis(fft::fft(moveaxis(z, 0, -1)), -1, 0);
      CHECK(close(fft::fft(z, {.axis = 0}), expected));
      CHECK(close(fft::fft(copy(moveaxis(z, 0, 1)), {.axis = 1}), moveaxis(expected, 0, 1)));
      CHECK(close(fft::fft(flip(z, {1, 2}), {.axis = 0}), flip(expected, {1, 2})));
      const T x = real(z);
      CHECK(close(fft::rfft(x, {.axis = 0}), moveaxis(fft::rfft(moveaxis(x, 0, -1)), -1, 0)));
      CHECK(close(fft::irfft(z, {.axis = 0}), moveaxis(fft::irfft(moveaxis(z, 0, -1)), -1, 0)));
      CHECK(close(fft::irfft(z, {.n = 2 * n - 1, .axis = 0}),
                  moveaxis(fft::irfft(moveaxis(z, 0, -1), {.n = 2 * n - 1}), -1, 0)));
    }
  }
}

TEST_CASE("a short-time transform and its inverse give the signal back") {
  const T x = T::normal({2, 400}, {.dtype = DType::f64}), window = 0.5 - 0.5 * cos(T::arange(64) * (6.283185307 / 64));
  for (const bool normalized : {false, true}) {
    const fft::FrameOptions options{.hop = 16, .normalized = normalized, .length = 400};
    const T spectra = fft::stft(x, 64, window, options);
    CHECK(spectra.shape() == Shape{2, 33, 26});
    CHECK(bool(max(abs(fft::istft(spectra, 64, window, options) - x)) < 1e-12));
  }
}

TEST_CASE("fast lengths have no prime factor above 5, and none between is left out") {
  const auto is_fast = [](std::int64_t n) {
    for (const std::int64_t prime : {2, 3, 5}) {
      while (n % prime == 0) n /= prime;
    }
    return n == 1;
  };
  for (std::int64_t n = 2000, next = 2000; n > 0; --n) {
    if (is_fast(n)) next = n;
    CHECK(fft::next_fast_length(n) == next);
  }
}

BOTH_MODES("transforms that do not exist are refused by name") {
  using L = Tensor<Mode>;
  const L x{1.0, 2.0, 3.0};
  CHECK_THROWS_WITH_AS((void)fft::fft(x, {.n = 0}), "fft: a transform of 0 points does not exist", ValueError);
  CHECK_THROWS_WITH_AS((void)fft::irfft(L{1.0, 2.0}, {.n = INT64_MAX}),
                       "irfft: a transform of 9223372036854775807 points; at most 68719476736 are computed",
                       ValueError);
  CHECK_THROWS_WITH_AS((void)fft::irfft(L{1.0}), "irfft: a transform of 0 points does not exist", ValueError);
  CHECK_THROWS_WITH_AS((void)fft::rfft(x * 1i), "rfft: the input must be real, not c64; fft transforms complex numbers",
                       TypeError);
  CHECK_THROWS_AS((void)fft::fft(L(1.0)), IndexError);
  CHECK_THROWS_AS((void)fft::fft(x, {.axis = 1}), IndexError);
  CHECK_THROWS_WITH_AS((void)fft::fftn(x, {.s = {2, 2}}), "fftn: 2 lengths (2,2) for the 1 axes of shape (3,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)fft::fftn(x, {.s = {2, 2}, .axes = 0}), "fftn: 2 lengths (2,2) for 1 axes", ShapeError);
  CHECK_THROWS_WITH_AS((void)fft::rfftn(x, {.axes = Axes(IntList{})}), "rfftn: at least one axis is needed",
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)fft::fftconvolve(x, L{{1.0}}),
                       "fftconvolve: operands of shapes (3,) and (1,1) must have as many axes", ShapeError);
  CHECK_THROWS_AS((void)fft::fftconvolve(L::ones({3, 1}), L::ones({1, 3}), Overlap::valid), ShapeError);
  CHECK_THROWS_AS((void)fft::stft(x, 8), ShapeError);
  CHECK_THROWS_AS((void)fft::stft(x, 2, L::ones({3})), ShapeError);
  CHECK_THROWS_AS((void)fft::istft(x, 2), ShapeError);
  CHECK_THROWS_WITH_AS((void)fft::template fftfreq<Mode>(0), "fftfreq: there are no frequencies of 0 samples",
                       ValueError);
  CHECK(fft::fft(L::zeros({0, 4})).shape() == Shape{0, 4});
  CHECK(fft::irfft(L::zeros({0, 3})).shape() == Shape{0, 4});
}

TEST_CASE_TEMPLATE("istft refuses a hop that leaves samples between the frames", M, Eager, Lazy) {
  using L = Tensor<M>;
  const L spectra = complex(L::ones({5, 3}), L::zeros({5, 3}));
  CHECK_THROWS_WITH_AS(fft::istft(spectra, 8, {}, {.hop = 9, .center = false}),
                       "istft: the hop 9 is beyond the 8 samples of a frame, so the samples between them are unknown",
                       ValueError);
  CHECK_THROWS_WITH_AS(
      fft::istft(spectra, 8, L::ones({6}), {.hop = 7, .center = false}),
      "istft: the hop 7 is beyond the 6 elements of the window, so the samples between them are unknown", ValueError);
  CHECK(fft::istft(spectra, 8, {}, {.hop = 8, .center = false}).shape() == Shape{24});
}
