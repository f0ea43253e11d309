// SPDX-License-Identifier: MIT
// f16 and bf16 to f32 and back, each number, also where subnormals are taken for zeros: those of f16 are normal in f32.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tyto/subnormals.hpp>
#include <tyto/tyto.hpp>

#include "devices/cpu/arithmetic/half_precision.hpp"
#include "devices/cpu/arithmetic/tile_loops/find_loop.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "tests/support/both_modes.hpp"

namespace tyto::cpu {

namespace {

/// IEEE 754: a sign, an exponent and `fraction` bits.
struct Format {
  DType dtype;
  int fraction, lowest_exponent;

  int infinity() const { return ((1 << (15 - fraction)) - 1) << fraction; }
  /// Of the positive number with these bits; of those of infinity the power of two behind the largest number.
  double value(int bits) const {
    const int exponent = bits >> fraction, digits = bits & ((1 << fraction) - 1);
    return exponent == 0 ? std::ldexp(digits, lowest_exponent - fraction)
                         : std::ldexp((1 << fraction) + digits, lowest_exponent - fraction + exponent - 1);
  }
};

constexpr Format formats[] = {{DType::f16, 10, -14}, {DType::bf16, 7, -126}};

/// Numbers of f32 by their bits, as no processor mode changes them, and those of 16 bits that they become.
struct Conversions {
  std::vector<std::uint32_t> wide;
  std::vector<std::uint16_t> halves;

  void add(std::uint32_t number, int half) {
    for (const bool negative : {false, true}) {
      wide.push_back(number | (negative ? 0x80000000U : 0U));
      halves.push_back(static_cast<std::uint16_t>(half | (negative ? 0x8000 : 0)));
    }
  }
};

constexpr std::uint32_t endless = 0x7f800000U;

std::uint32_t bits_of(double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }

/// NaN counts as one value of either sign.
template <class Bits>
bool same_numbers(const Bits* found, const std::vector<Bits>& expected, Bits infinity, std::size_t first,
                  std::size_t count) {
  const auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto is_nan = [&](Bits bits) { return (bits & ~sign) > infinity; };
  for (std::size_t i = 0; i < count; ++i) {
    const Bits got = found[i], want = expected[first + i];
    if (got != want && !(is_nan(got) && is_nan(want) && (got & sign) == (want & sign))) return false;
  }
  return true;
}

/// Each number of 16 bits, as f32.
Conversions all_numbers(const Format& format) {
  Conversions out;
  for (int bits = 0; bits < 0x8000; ++bits) {
    const auto digits = static_cast<std::uint32_t>(bits & ((1 << format.fraction) - 1)) << (23 - format.fraction);
    out.add(bits < format.infinity() ? bits_of(format.value(bits)) : endless | digits, bits);
  }
  return out;
}

/// Numbers of f32 that lie where rounding changes: each of 16 bits, what lies half-way to the next, and its neighbours.
Conversions boundaries(const Format& format) {
  Conversions out;
  for (int bits = 0; bits < format.infinity(); ++bits) {
    const double low = format.value(bits), high = format.value(bits + 1);
    const std::uint32_t middle = bits_of(low + (high - low) / 2);
    out.add(bits_of(low), bits);
    out.add(middle - 1, bits);
    out.add(middle, bits % 2 == 0 ? bits : bits + 1);
    out.add(middle + 1, bits + 1);
  }
  out.add(1, 0);  // the smallest
  out.add(0x7f7fffffU, format.infinity());
  out.add(endless, format.infinity());
  for (const std::uint32_t nan : {0x7fc00000U, 0x7f800001U, 0x7fffffffU, 0x7fa00000U}) out.add(nan, 0x7fff);
  return out;
}

template <class Convert>
void in_both_modes(const Convert& convert) {
  for (const bool zeros : {false, true}) {
    CAPTURE(zeros);
    std::optional<SubnormalsAsZeros> scope;
    if (zeros) scope.emplace();
    const bool same = convert();
    scope.reset();
    CHECK(same);
  }
}

}  // namespace

TEST_CASE("loops of each instruction set convert f16 and bf16 exactly, round to even and keep NaN and subnormals") {
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set > widest_instruction_set()) continue;
    const std::string name = name_of(set);
    CAPTURE(name);
    for (const Format& format : formats) {
      const std::string type(name_of(format.dtype));
      CAPTURE(type);
      const Conversions all = all_numbers(format), rounded = boundaries(format);
      const auto infinity = static_cast<std::uint16_t>(format.infinity());
      const TileLoop to_wide = conversion(tile_loops(set), format.dtype, DType::f32);
      const TileLoop to_halves = conversion(tile_loops(set), DType::f32, format.dtype);
      // All at once, and fewer than fill a vector.
      for (const std::size_t together : {all.wide.size(), std::size_t{3}}) {
        in_both_modes([&] {
          std::vector<std::uint32_t> wide(together);
          bool same = true;
          for (std::size_t i = 0; i + together <= all.wide.size(); i += together) {
            to_wide(wide.data(), &all.halves[i], nullptr, nullptr, together);
            same = same && same_numbers(wide.data(), all.wide, endless, i, together);
          }
          return same;
        });
      }
      for (const std::size_t together : {rounded.wide.size(), std::size_t{3}}) {
        in_both_modes([&] {
          std::vector<std::uint16_t> halves(together);
          bool same = true;
          for (std::size_t i = 0; i + together <= rounded.wide.size(); i += together) {
            to_halves(halves.data(), &rounded.wide[i], nullptr, nullptr, together);
            same = same && same_numbers(halves.data(), rounded.halves, infinity, i, together);
          }
          return same;
        });
      }
    }
  }
}

TEST_CASE("widen and narrow take elements that lie apart, in either direction") {
  for (const Format& format : formats) {
    const Conversions all = all_numbers(format);
    for (const std::int64_t stride : {1, 2, 3, 17, -1, -5}) {
      for (const std::int64_t count : {0, 1, 7, 8, 511, 512, 513, 1500}) {
        CAPTURE(stride);
        CAPTURE(count);
        const std::int64_t span = std::abs(stride) * count, first = stride < 0 ? span : 0;
        std::vector<std::uint32_t> wide(static_cast<std::size_t>(count) + 1, 5);
        widen(format.dtype, all.halves.data() + first, stride, reinterpret_cast<float*>(wide.data()), count);
        std::vector<std::uint16_t> halves(static_cast<std::size_t>(span) + 1, 5);
        narrow(reinterpret_cast<const float*>(wide.data()), format.dtype, halves.data() + first, stride, count);
        CHECK(wide.back() == 5);
        std::int64_t wrong = 0;
        std::vector<std::uint16_t> expected(halves.size(), 5);
        for (std::int64_t i = 0; i < count; ++i) {
          const auto at = static_cast<std::size_t>(first + i * stride);
          wrong += wide[static_cast<std::size_t>(i)] != all.wide[at];
          expected[at] = all.halves[at];
        }
        CHECK(wrong == 0);
        CHECK(halves == expected);
      }
    }
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
