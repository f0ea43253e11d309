// SPDX-License-Identifier: MIT
// f16 to f32 and back, each number, also where subnormals are taken for zeros: those of f16 are normal numbers of f32.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include <tyto/subnormals.hpp>
#include <tyto/tyto.hpp>

#include "devices/cpu/arithmetic/half_precision.hpp"
#include "tests/support/both_modes.hpp"

namespace tyto::cpu {

namespace {

/// IEEE 754: sign, five bits of exponent biased by 15, ten of fraction. All that are finite.
std::vector<float> finite_numbers(std::vector<std::uint16_t>& halves) {
  std::vector<float> out;
  for (int bits = 0; bits < 0x10000; ++bits) {
    const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent == 31) continue;
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    halves.push_back(static_cast<std::uint16_t>(bits));
    out.push_back(static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude));
  }
  return out;
}

}  // namespace

TEST_CASE("f16 subnormals are themselves as f32 and come back, with and without SubnormalsAsZeros") {
  std::vector<std::uint16_t> halves;
  const std::vector<float> numbers = finite_numbers(halves);
  const auto count = static_cast<std::int64_t>(halves.size());
  for (const bool zeros : {false, true}) {
    CAPTURE(zeros);
    std::vector<float> wide(halves.size());
    std::vector<std::uint16_t> narrowed(halves.size());
    {
      std::optional<SubnormalsAsZeros> scope;
      if (zeros) scope.emplace();
      widen(DType::f16, halves.data(), 1, wide.data(), count);
      narrow(numbers.data(), DType::f16, narrowed.data(), 1, count);
    }
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < halves.size(); ++i) {
      wrong += std::bit_cast<std::uint32_t>(wide[i]) != std::bit_cast<std::uint32_t>(numbers[i]);
      wrong += narrowed[i] != halves[i];
    }
    CHECK(wrong == 0);
  }
}

BOTH_MODES("operators keep f16 subnormals under SubnormalsAsZeros") {
  using T = Tensor<Mode>;
  const double small = std::ldexp(3, -24);
  const SubnormalsAsZeros zeros;
  const auto first = [](const T& x) { return double(x.astype(DType::f64).reshape({-1})[0].template item<double>()); };
  const T x = T::full({4, 4}, small, DType::f16);
  CHECK(first(x) == small);
  CHECK(first(x.astype(DType::f32)) == small);
  CHECK(first(x + x) == 2 * small);
  CHECK(first(sum(x, {0})) == 4 * small);
  CHECK(first(cumsum(x, 0)) == small);
  CHECK(first(maximum(x, T::zeros({4, 4}, DType::f16))) == small);
  CHECK(first(matmul(x, T::ones({4, 4}, DType::f16))) == 4 * small);
  CHECK(first(conv2d(x.reshape({1, 4, 4, 1}), T::ones({1, 1, 1, 1}, DType::f16))) == small);
  CHECK(first(max_pool(x.reshape({1, 4, 4, 1}), 2)) == small);
  CHECK(first(sort(x)) == small);
}

}  // namespace tyto::cpu
