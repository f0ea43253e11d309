// SPDX-License-Identifier: MIT
// A planned Fourier transform of lines of one length: its passes and roots of unity, made once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/cpu/fft/passes.hpp"

namespace tyto::cpu::fourier {

/// Roots of unity, their real and imaginary parts in two arrays.
template <class T>
struct Roots {
  std::vector<T> re, im;
  Points<const T> at(std::int64_t index) const { return {re.data() + index, im.data() + index}; }
  /// Appends e^(-2 pi i numerator / denominator), exact to the last digit.
  void add(std::int64_t numerator, std::int64_t denominator);
};

/// Lengths without a prime factor above 31 by passes of the Stockham algorithm, which needs no reordering; others as a
/// convolution with a chirp (Bluestein), by transforms of a longer, fast length.
template <class T>
class LineTransform {
 public:
  LineTransform(std::int64_t points, const Passes<T>& passes);

  /// Elements of T in one array of points; run() works in four of them.
  std::int64_t points_needed() const { return longer_ ? longer_->points_needed() : points_; }

  /// Transforms `lanes` lines at once, point j of line l being at j * lanes + l of `first`; `second` is workspace.
  /// Forward: for the inverse, exchange re and im of `first` and of the result. Returns where the result is.
  Points<T> run(Points<T> first, Points<T> second, std::int64_t lanes) const;

  /// Rough nanoseconds for one line.
  double nanoseconds() const;

 private:
  struct Pass {
    std::int64_t radix, m, before;  // before: product of earlier radices
    std::int64_t twiddles, roots;   // where they begin
  };
  void plan_passes(std::vector<std::int64_t> factors);
  void plan_chirp();
  Points<T> run_passes(Points<T> first, Points<T> second, std::int64_t lanes) const;

  std::int64_t points_;
  const Passes<T>& passes_;
  std::vector<Pass> steps_;
  Roots<T> roots_;
  std::unique_ptr<const LineTransform> longer_;  // of a length that has no small factors
  Roots<T> chirp_, kernel_;
};

}  // namespace tyto::cpu::fourier
