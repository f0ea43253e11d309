// SPDX-License-Identifier: MIT
// Tables are made in double precision for either type, and rounded once.
#include "devices/opencl/spectra/fourier_tables.hpp"

#include <bit>
#include <complex>
#include <cstring>

#include "core/value/roots_of_unity.hpp"

namespace tyto::opencl {

namespace {

using C = std::complex<double>;

/// Above it, sums over all points of a radix cost more than Bluestein's convolution.
constexpr std::int64_t largest_radix = 31;

bool has_small_factors(std::int64_t n) {
  for (std::int64_t factor = 2; factor <= largest_radix; ++factor) {
    while (n % factor == 0) n /= factor;
  }
  return n == 1;
}

C root(std::int64_t numerator, std::int64_t denominator) { return C(core::root_of_unity(numerator, denominator)); }

/// The transform of as many numbers as there are roots, a power of two.
std::vector<C> transformed(std::vector<C> x, const std::vector<C>& roots) {
  const std::size_t n = x.size();
  std::vector<C> y(n);
  for (std::size_t left = n, before = 1; left > 1; left /= 2, before *= 2) {
    for (std::size_t b = 0; b < n / 2; ++b) {
      const std::size_t p = b / before, q = b % before;
      const C a = x[b], c = x[b + n / 2];
      y[q + before * 2 * p] = a + c;
      y[q + before * (2 * p + 1)] = (a - c) * roots[p * before];
    }
    std::swap(x, y);
  }
  return x;
}

template <class T>
Table bytes_of(const std::vector<C>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * 2 * sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const T pair[] = {static_cast<T>(numbers[i].real()), static_cast<T>(numbers[i].imag())};
    std::memcpy(bytes.data() + i * sizeof pair, pair, sizeof pair);
  }
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

}  // namespace

// j k = (j^2 + k^2 - (k - j)^2) / 2: the transform is a convolution with the chirp, which a longer transform computes.
FourierTables fourier_tables(std::int64_t length, bool with_halves, DType dtype) {
  FourierTables tables;
  tables.chirped = !has_small_factors(length);
  tables.points = length;
  if (tables.chirped) {
    tables.points = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * length - 1)));
  }
  std::vector<C> numbers;
  const auto here = [&] { return static_cast<std::int64_t>(numbers.size()); };
  for (std::int64_t k = 0; k < tables.points; ++k) numbers.push_back(root(k, tables.points));
  const std::vector<C> roots = numbers;
  if (with_halves) {
    tables.halves = here();
    for (std::int64_t k = 0; k <= length; ++k) numbers.push_back(root(k, 2 * length));
  }
  if (tables.chirped) {
    tables.chirp = here();
    std::vector<C> around(roots.size());
    for (std::int64_t k = 0, square = 0; k < length; ++k) {
      numbers.push_back(root(square, 2 * length));
      const auto at = static_cast<std::size_t>(k);
      around[at] = around[(around.size() - at) % around.size()] = std::conj(numbers.back());
      square = (square + 2 * k + 1) % (2 * length);  // whole turns are taken off before they grow
    }
    tables.kernel = here();
    for (const C& each : transformed(std::move(around), roots)) {
      numbers.push_back(each / static_cast<double>(tables.points));
    }
  }
  tables.contents = dtype == DType::f64 ? bytes_of<double>(numbers) : bytes_of<float>(numbers);
  return tables;
}

}  // namespace tyto::opencl
