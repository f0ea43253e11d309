// SPDX-License-Identifier: MIT
// Plans line transforms: factors, roots of unity and chirps.
#include "devices/cpu/fft/line_transform.hpp"

#include <algorithm>

#include "core/value/roots_of_unity.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu::fourier {

namespace {

/// Bluestein's convolution costs about as much as passes whose radices above 5 add up to this, and less than one pass
/// over few points of a large radix, which leaves most of a vector empty.
constexpr std::int64_t largest_radices = 80, large_radix = 31, fewest_beside_large = 8;

/// Eights and fours first, since first passes of a single line have nothing else to fill vectors with; the rest
/// ascending. Empty where sums over prime factors are too long.
std::vector<std::int64_t> factors_of(const std::int64_t points) {
  std::int64_t n = points, large = 0;
  std::vector<std::int64_t> twos, others;
  int power = 0;
  for (; n % 2 == 0; n /= 2) ++power;
  // The second pass has vectors as long as the first radix: an eight leads where there is one.
  for (; power >= 5 || power == 3; power -= 3) twos.push_back(8);
  for (; power >= 2; power -= 2) twos.push_back(4);
  if (power == 1) twos.push_back(2);
  for (std::int64_t radix = 3; radix <= largest_radix; radix += 2) {
    if (n % radix == 0 && radix > large_radix && points / radix < fewest_beside_large) return {};
    for (; n % radix == 0; n /= radix) {
      others.push_back(radix);
      if (radix > 5) large += radix;
    }
  }
  if (n != 1 || large > largest_radices) return {};
  twos.insert(twos.end(), others.begin(), others.end());
  return twos;
}

std::int64_t fast_length(std::int64_t n) {
  std::int64_t best = 1;
  while (best < n) best *= 2;
  for (std::int64_t odd : {3, 5, 9, 15}) {
    std::int64_t length = odd;
    while (length < n) length *= 2;
    best = std::min(best, length);
  }
  return best;
}

}  // namespace

template <class T>
void Roots<T>::add(std::int64_t numerator, std::int64_t denominator) {
  const std::complex<long double> root = core::root_of_unity(numerator, denominator);
  re.push_back(static_cast<T>(root.real()));
  im.push_back(static_cast<T>(root.imag()));
}

template <class T>
LineTransform<T>::LineTransform(std::int64_t points, const Passes<T>& passes) : points_(points), passes_(passes) {
  std::vector<std::int64_t> factors = factors_of(points);
  if (points > 1 && factors.empty()) plan_chirp();
  else plan_passes(std::move(factors));
}

template <class T>
void LineTransform<T>::plan_passes(std::vector<std::int64_t> factors) {
  std::int64_t left = points_, before = 1;
  for (const std::int64_t radix : factors) {
    Pass pass{radix, left / radix, before, static_cast<std::int64_t>(roots_.re.size()), 0};
    for (std::int64_t j = 1; j < radix && pass.m > 1; ++j) {
      for (std::int64_t p = 0; p < pass.m; ++p) roots_.add(j * p, left);
    }
    pass.roots = static_cast<std::int64_t>(roots_.re.size());
    for (std::int64_t k = 0; k < radix && radix > 5 && radix != 8; ++k) roots_.add(k, radix);
    steps_.push_back(pass);
    left = pass.m;
    before *= radix;
  }
}

// j k = (j^2 + k^2 - (k - j)^2) / 2: the transform is a convolution with the chirp e^(pi i j^2 / n).
template <class T>
void LineTransform<T>::plan_chirp() {
  const std::int64_t length = fast_length(2 * points_ - 1);
  longer_ = std::make_unique<const LineTransform>(length, passes_);
  // Transformed in double precision for any T, and divided by the length that the inverse leaves out.
  const auto count = static_cast<std::size_t>(length);
  Roots<double> around{std::vector<double>(count), std::vector<double>(count)};
  Roots<double> exact;
  for (std::int64_t j = 0, square = 0; j < points_; ++j) {
    chirp_.add(square, 2 * points_);
    exact.add(square, 2 * points_);
    square = (square + 2 * j + 1) % (2 * points_);  // whole turns are taken off before they grow
  }
  for (std::size_t j = 0; j < static_cast<std::size_t>(points_); ++j) {
    around.re[j] = around.re[(count - j) % count] = exact.re[j];
    around.im[j] = around.im[(count - j) % count] = -exact.im[j];
  }
  Roots<double> beside{std::vector<double>(count), std::vector<double>(count)};
  const LineTransform<double> wide(length, fourier::passes<double>(instruction_set()));
  const Points<double> found = wide.run({around.re.data(), around.im.data()}, {beside.re.data(), beside.im.data()}, 1);
  for (std::size_t j = 0; j < count; ++j) {
    kernel_.re.push_back(static_cast<T>(found.re[j] / static_cast<double>(length)));
    kernel_.im.push_back(static_cast<T>(found.im[j] / static_cast<double>(length)));
  }
}

template <class T>
Points<T> LineTransform<T>::run_passes(Points<T> first, Points<T> second, std::int64_t lanes) const {
  for (const Pass& pass : steps_) {
    passes_.pass(pass.radix, pass.m, pass.before * lanes, first, second, roots_.at(pass.twiddles),
                 roots_.at(pass.roots));
    std::swap(first, second);
  }
  return first;
}

template <class T>
Points<T> LineTransform<T>::run(Points<T> first, Points<T> second, std::int64_t lanes) const {
  if (!longer_) return run_passes(first, second, lanes);
  const std::int64_t length = longer_->points_;
  passes_.multiply(points_, lanes, first, chirp_.at(0));
  std::fill(first.re + points_ * lanes, first.re + length * lanes, T(0));
  std::fill(first.im + points_ * lanes, first.im + length * lanes, T(0));
  const Points<T> spectrum = longer_->run_passes(first, second, lanes);
  passes_.multiply(length, lanes, spectrum, kernel_.at(0));
  const Points<T> other = spectrum.re == first.re ? second : first;
  const Points<T> found = longer_->run_passes(spectrum.exchanged(), other.exchanged(), lanes).exchanged();
  passes_.multiply(points_, lanes, found, chirp_.at(0));
  return found;
}

template <class T>
double LineTransform<T>::nanoseconds() const {
  if (longer_) return 2 * longer_->nanoseconds() + machine::indexed_element * static_cast<double>(points_);
  double radices = 1;
  for (const Pass& pass : steps_) radices += 2 + (pass.radix > 8 ? static_cast<double>(pass.radix) / 4 : 0);
  return 2.5 * static_cast<double>(points_) * radices * sizeof(T) / 4 / machine::vector_operations;
}

template struct Roots<float>;
template struct Roots<double>;
template class LineTransform<float>;
template class LineTransform<double>;

}  // namespace tyto::cpu::fourier
