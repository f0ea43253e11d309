// Eigenvalues and eigenvectors of general real matrices: balanced, to Hessenberg form, to real Schur form, and back.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "devices/cpu/linalg/complex_parts.hpp"
#include "devices/cpu/linalg/real_general.hpp"

namespace tyto::cpu::linalg {

namespace {

/// Rows of a triangle that are multiplied together.
constexpr Index rows_together = 96;

/// Rows and columns scaled by powers of two until they are about as long as each other, their diagonal elements
/// included, without which scaling may cost digits (James, Langou and Lowery, On matrix balancing and eigenvector
/// computation, 2014); factors[i] is that of column i. None leaves the range in which its reciprocal has all its
/// digits.
template <class T>
void balance(const Matrix<T>& a, T* factors) noexcept {
  using Limits = std::numeric_limits<T>;
  const T largest = std::ldexp(T(1), Limits::max_exponent - Limits::digits), smallest = 1 / largest;
  const Index n = a.rows;
  std::fill_n(factors, n, T(1));
  for (bool changed = true; changed;) {
    changed = false;
    for (Index i = 0; i < n; ++i) {
      double row = 0, column = 0;
      for (Index j = 0; j < n; ++j) {
        const double right = static_cast<double>(a(i, j)), below = static_cast<double>(a(j, i));
        row += right * right;
        column += below * below;
      }
      if (row == 0 || column == 0 || !std::isfinite(row) || !std::isfinite(column)) continue;
      row = std::sqrt(row);
      column = std::sqrt(column);
      const double before = row + column;
      T factor = 1;
      for (; column < row / 2 && factors[i] * factor < largest; column *= 4) factor *= 2;
      for (; column >= row * 2 && factors[i] * factor > smallest; column /= 4) factor /= 2;
      if ((column + row) / static_cast<double>(factor) >= 0.95 * before) continue;
      changed = true;
      factors[i] *= factor;
      for (Index j = 0; j < n; ++j) {
        a(i, j) /= factor;
        a(j, i) *= factor;
      }
    }
  }
}

}  // namespace

std::int64_t real_general_room(std::int64_t size, bool vectors) noexcept {
  return size + (vectors ? size * size : 0) + std::max(hessenberg_room(size), schur_room());
}

template <class T>
bool decompose_real_general(const Bench<T>& bench, Matrix<T> a, T* values_re, T* values_im, const Parts<T>* vectors,
                            T* room) noexcept {
  const Index n = a.rows;
  T* const factors = room;
  room += n;
  Matrix<T> turned;
  if (vectors != nullptr) {
    turned = dense(room, n, n);
    room += n * n;
  }
  balance(a, factors);
  reduce_to_hessenberg(bench, a, turned, room);
  if (!reduce_to_schur(*bench.loops, a, turned, values_re, values_im, room)) return false;
  if (vectors == nullptr) return true;
  // Both parts of a pair are rows of one matrix until they are vectors of the form; then they go where they belong.
  const auto& [re, im] = *vectors;
  solve_for_schur_vectors(*bench.loops, a, values_re, values_im, im);
  const bool turns = !is_identity(turned);
  if (turns) std::fill_n(re.first, n * n, T(0));
  else std::copy_n(im.first, n * n, re.first);
  for (Index first = 0; turns && first < n; first += rows_together) {
    const Index rows = std::min(rows_together, n - first);
    // A pair's vectors reach one element further than the diagonal.
    const Index depth = std::min(first + rows + 1, n);
    add_product<T>(bench, im.part(first, 0, rows, depth), turned.part(0, 0, depth, n), re.part(first, 0, rows, n));
  }
  for (Index k = 0; k < n; ++k) {
    if (values_im[k] == 0) {
      std::fill_n(im.row(k), n, T(0));
      continue;
    }
    std::copy_n(re.row(k + 1), n, im.row(k));
    std::transform(im.row(k), im.row(k) + n, im.row(k + 1), std::negate<T>());
    std::copy_n(re.row(k), n, re.row(k + 1));
    ++k;
  }
  normalise_rows(*vectors, factors);
  return true;
}

template bool decompose_real_general(const Bench<float>&, Matrix<float>, float*, float*, const Parts<float>*,
                                     float*) noexcept;
template bool decompose_real_general(const Bench<double>&, Matrix<double>, double*, double*, const Parts<double>*,
                                     double*) noexcept;

}  // namespace tyto::cpu::linalg
