// SPDX-License-Identifier: MIT
// The exponential of a matrix by scaling and squaring, with the Pade approximants and bounds of Higham (2005).
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "devices/cpu/linalg/factorisations.hpp"

namespace tyto::cpu::linalg {

namespace {

/// The largest 1-norm at which the approximant of a degree is good to the last digit of a type.
struct Degree {
  int degree;
  double largest_norm;
};
constexpr Degree double_degrees[] = {
    {3, 1.495585217958292e-2}, {5, 2.539398330063230e-1}, {7, 9.504178996162932e-1}, {13, 5.371920351148152}};
constexpr Degree float_degrees[] = {{3, 4.258730016922831e-1}, {5, 1.880152677804762}, {7, 3.925724783138660}};
constexpr int highest_degree = 13;

/// The first that is good, or the last, for which the matrix is to be scaled.
template <class T>
const Degree& degree_for(double norm) noexcept {
  const std::span<const Degree> list = sizeof(T) == 8 ? std::span<const Degree>(double_degrees) : float_degrees;
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Degree& each) { return norm <= each.largest_norm; });
  return found == list.end() ? list.back() : *found;
}

template <class T>
double norm_of(const Matrix<const T>& a) noexcept {
  double largest = 0;
  for (std::int64_t column = 0; column < a.columns; ++column) {
    double sum = 0;
    for (std::int64_t row = 0; row < a.rows; ++row) sum += std::abs(static_cast<double>(a(row, column)));
    if (!(sum <= largest)) largest = sum;  // NaN too
  }
  return largest;
}

}  // namespace

std::int64_t exponential_workspace(std::int64_t size) noexcept { return 7 * size * size; }

template <class T>
void exponential(const KernelContext<T>& context, Matrix<const T> a, Matrix<T> result, std::int64_t* pivots,
                 T* workspace) noexcept {
  const std::int64_t size = a.rows, count = size * size;
  const double norm = norm_of<T>(a);
  if (!std::isfinite(norm)) {
    std::fill_n(result.first, count, std::numeric_limits<T>::quiet_NaN());
    return;
  }
  const Degree& chosen = degree_for<T>(norm);
  int squarings = 0;
  for (double left = norm; left > chosen.largest_norm; left /= 2) ++squarings;
  const T scale = static_cast<T>(std::ldexp(1.0, -squarings));

  const auto place = [&](std::int64_t number) { return dense(workspace + number * count, size, size); };
  const Matrix<T> x = place(0), powers[] = {place(1), place(2), place(3)}, even = place(4), odd = place(5),
                  inner = place(6);
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t column = 0; column < size; ++column) x(row, column) = scale * a(row, column);
  }
  const auto multiply = [&](const Matrix<T>& left, const Matrix<T>& right, const Matrix<T>& to) {
    std::fill_n(to.first, count, T(0));
    add_product<T>(context, left, right, to);
  };
  multiply(x, x, powers[0]);
  multiply(powers[0], powers[0], powers[1]);
  multiply(powers[0], powers[1], powers[2]);

  double coefficients[highest_degree + 1] = {1};
  for (int j = 1; j <= chosen.degree; ++j) {
    coefficients[j] = coefficients[j - 1] * (chosen.degree - j + 1) / (j * (2.0 * chosen.degree - j + 1));
  }
  // to = the sum over k of coefficients[start + 2 k] x^(2 k), for k from `first` to 3.
  const auto sum_powers = [&](int start, int first, const Matrix<T>& to) {
    std::fill_n(to.first, count, T(0));
    for (int k = first; k <= 3 && start + 2 * k <= chosen.degree; ++k) {
      const T coefficient = static_cast<T>(coefficients[start + 2 * k]);
      if (k == 0) {
        for (std::int64_t i = 0; i < size; ++i) to(i, i) += coefficient;
      } else {
        context.loops->add_scaled(count, coefficient, powers[k - 1].first, to.first);
      }
    }
  };
  // The odd part without its factor x, then the even one; beyond the sixth power both are a multiple of it.
  for (const auto& [start, to] : {std::pair(1, inner), std::pair(0, even)}) {
    sum_powers(start, 0, to);
    if (chosen.degree > 7) {
      sum_powers(start + 6, 1, odd);
      add_product<T>(context, powers[2], odd, to);
    }
  }
  multiply(x, inner, odd);
  // (even - odd) result = even + odd
  for (std::int64_t i = 0; i < count; ++i) {
    const T p = even.first[i], q = odd.first[i];
    result.first[i] = p + q;
    even.first[i] = p - q;
  }
  factorise_lu(context, even, pivots);
  for (std::int64_t i = 0; i < size; ++i) {
    if (pivots[i] != i) std::swap_ranges(result.row(i), result.row(i) + size, result.row(pivots[i]));
  }
  solve_triangular<T>(context, even, Triangle::lower, true, result);
  solve_triangular<T>(context, even, Triangle::upper, false, result);
  for (; squarings > 0; --squarings) {
    std::copy_n(result.first, count, x.first);
    multiply(x, x, result);
  }
}

#define TYTO_INSTANTIATE(T) \
  template void exponential<T>(const KernelContext<T>&, Matrix<const T>, Matrix<T>, std::int64_t*, T*) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
