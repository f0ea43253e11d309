// Finds the two parts of a reciprocal and proves that they divide correctly (docs/adr/0140).
//
// With 1 / d = high + low up to 2^-47 of it, the sum that is rounded at last is within 2^-45.6 of x / d. It is rounded
// to another number only where a number halfway between two neighbours lies that near. Of integers X and D of 24 bits,
// and M of 25, odd: X 2^s - M D = k with |k| <= 11, s being 24 or 25. Those X are few, and each is tried.
#include "devices/cpu/jit/reciprocal.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tyto::cpu::jit {

namespace {

constexpr std::int64_t least_integer = std::int64_t{1} << 23, past_integers = std::int64_t{1} << 24;
constexpr std::int64_t nearest_to_halfway = 11;

bool divides(float x, float divisor, const Reciprocal& by) { return std::fma(x, by.high, x * by.low) == x / divisor; }

/// The inverse of an odd number modulo 2^64: each step doubles the bits that are right.
std::uint64_t inverse_of(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int step = 0; step < 5; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}

/// All X for a distance k.
bool divides_near_halfway(std::int64_t integer, int s, std::int64_t k, float divisor, const Reciprocal& by) {
  const int twos = std::countr_zero(static_cast<std::uint64_t>(integer));
  if (k % (std::int64_t{1} << twos) != 0) return true;
  // M D' = -k' modulo 2^(s - twos), where D and k are 2^twos times D' and k'.
  const std::int64_t modulus = std::int64_t{1} << (s - twos);
  const std::uint64_t inverse = inverse_of(static_cast<std::uint64_t>(integer >> twos));
  const std::uint64_t first =
      static_cast<std::uint64_t>(-(k >> twos)) * inverse & static_cast<std::uint64_t>(modulus - 1);
  for (auto m = static_cast<std::int64_t>(first); m < 2 * past_integers; m += modulus) {
    if (m < past_integers || m % 2 == 0) continue;
    const std::int64_t x = (m * integer + k) >> s;
    if (x < least_integer || x >= past_integers) continue;
    if (!divides(static_cast<float>(x), divisor, by)) return false;
  }
  return true;
}

}  // namespace

std::optional<Reciprocal> reciprocal_of(float divisor) {
  const float size = std::abs(divisor);
  if (!(size >= 0x1p-20f && size <= 0x1p20f)) return std::nullopt;
  int exponent = 0;
  const float fraction = std::frexp(size, &exponent);
  if (fraction == 0.5f) return std::nullopt;
  const double exact = 1 / static_cast<double>(divisor);
  float high = static_cast<float>(exact);
  // Towards zero, so that both parts have the same sign: signs of zeros and infinities come out right.
  if (std::abs(static_cast<double>(high)) > std::abs(exact)) high = std::nextafter(high, 0.0f);
  const auto low = static_cast<float>(exact - static_cast<double>(high));
  const Reciprocal by{high, low, 0x1p-78f * size};
  if (low == 0 || std::signbit(low) != std::signbit(high)) return std::nullopt;
  // The divisor as an integer of 24 bits, and what the integers x are divided by is that.
  const auto integer = static_cast<std::int64_t>(std::ldexp(fraction, 24));
  for (const int s : {24, 25}) {
    for (std::int64_t k = -nearest_to_halfway; k <= nearest_to_halfway; ++k) {
      if (k != 0 && !divides_near_halfway(integer, s, k, divisor, by)) return std::nullopt;
    }
  }
  return by;
}

}  // namespace tyto::cpu::jit
