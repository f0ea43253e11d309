// SPDX-License-Identifier: MIT
// The angle is brought into the first eighth of a turn by integers, so that large numerators lose no digits.
#include "core/value/roots_of_unity.hpp"

#include <cmath>
#include <utility>

namespace tyto::core {

std::complex<long double> root_of_unity(std::int64_t numerator, std::int64_t denominator) {
  std::int64_t eighths = 8 * (numerator % denominator);
  bool turned = false, mirrored = false, halved = false;
  if (eighths > 4 * denominator) eighths = 8 * denominator - eighths, halved = true;
  if (eighths > 2 * denominator) eighths = 4 * denominator - eighths, mirrored = true;
  if (eighths > denominator) eighths = 2 * denominator - eighths, turned = true;
  const long double angle = 0.785398163397448309615660845819875721L * static_cast<long double>(eighths) /
                            static_cast<long double>(denominator);
  long double c = std::cos(angle), s = std::sin(angle);
  if (turned) std::swap(c, s);
  if (mirrored) c = -c;
  if (halved) s = -s;
  return {c, -s};
}

}  // namespace tyto::core
