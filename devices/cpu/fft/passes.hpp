// SPDX-License-Identifier: MIT
// The loops that Fourier transforms spend their time in: butterflies over all points, and moving points in and out.
//
// Nothing but headers of types is included: the sources that define the loops are compiled for one instruction set
// each and must not emit inline functions that the linker could share with the others.
#pragma once

#include <cstdint>

#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu::fourier {

/// The largest radix of a pass.
constexpr std::int64_t largest_radix = 61;

/// Complex points as two arrays, which vectors take without shuffles.
template <class T>
struct Points;
template <class T>
struct Points<const T> {
  const T* re = nullptr;
  const T* im = nullptr;
};
template <class T>
struct Points {
  T* re = nullptr;
  T* im = nullptr;
  operator Points<const T>() const noexcept { return {re, im}; }
  /// i times the conjugate: a transform between two of these goes in the other direction.
  Points exchanged() const noexcept { return {im, re}; }
};

/// Where points of several lines lie in a tensor, in elements of T: re of point j of line l at j * step + l *
/// line_step, its im `second` further.
struct Placement {
  std::int64_t step = 0;
  std::int64_t line_step = 0;
  std::int64_t second = 0;
};

template <class T>
struct Passes {
  /// Lines that fill a vector, transformed together.
  std::int64_t lanes = 1;
  /// One pass of the Stockham algorithm: for p < m and q < s, point r p + j of the result at q is the j-th of the
  /// transform of the points p + m k (k < radix) of x at q, times twiddle (j, p). Twiddles of j = 1, 2, ... stand one
  /// after the other, m of each. Radix 2, 3, 4, 5 or 8, or an odd one up to largest_radix with its roots of unity.
  void (*pass)(std::int64_t radix, std::int64_t m, std::int64_t s, Points<const T> x, Points<T> y,
               Points<const T> twiddles, Points<const T> roots) = nullptr;
  /// Points of `lines` lines from a tensor, point j of line l going to j * to_step + l.
  void (*fetch)(std::int64_t points, std::int64_t lines, const T* from, Placement placement, Points<T> to,
                std::int64_t to_step) = nullptr;
  /// The same back, multiplied by `scale`.
  void (*put)(std::int64_t points, std::int64_t lines, Points<const T> from, std::int64_t from_step, T scale, T* to,
              Placement placement) = nullptr;
  /// Both for lines that lie anywhere, each given by its address and dense along itself: pairs of numbers (re and im)
  /// or single ones, whose imaginary parts are neither written nor read. Vectors of the lines are transposed. `from`
  /// and `to` have `lanes` entries, of which fetch_lines reads all and put_lines writes to the first `lines`.
  void (*fetch_lines)(std::int64_t points, bool pairs, const T* const* from, Points<T> to) = nullptr;
  void (*put_lines)(std::int64_t points, std::int64_t lines, bool pairs, Points<const T> from, T scale,
                    T* const* to) = nullptr;
  /// x *= y, for `count` points of `lanes` lines each and one y for all lines.
  void (*multiply)(std::int64_t count, std::int64_t lanes, Points<T> x, Points<const T> y) = nullptr;
  /// The half spectrum (m + 1 points) of 2 m real numbers from the transform of their pairs (m points), and back;
  /// roots: e^(-pi i k / m) for k <= m.
  void (*unpack_pairs)(std::int64_t m, std::int64_t lanes, Points<const T> x, Points<T> y,
                       Points<const T> roots) = nullptr;
  void (*pack_pairs)(std::int64_t m, std::int64_t lanes, Points<const T> x, Points<T> y,
                     Points<const T> roots) = nullptr;
};

/// The loops for an instruction set.
template <class T>
const Passes<T>& passes(InstructionSet set) noexcept;

TYTO_IN_EACH_SET(template <class T> const Passes<T>& passes() noexcept;)

}  // namespace tyto::cpu::fourier
