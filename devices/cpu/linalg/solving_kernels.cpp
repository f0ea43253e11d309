// SPDX-License-Identifier: MIT
// The kernels that solve systems of equations: LU, Cholesky, triangles, and what is made of them.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/linalg/factorisations.hpp"
#include "devices/cpu/linalg/linalg_kernels.hpp"
#include "devices/cpu/linalg/matrix_kernel.hpp"

namespace tyto::cpu::linalg {

namespace {

double cube(std::int64_t size) {
  return static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
}

/// Row i of `to` is row permutation[i] of `from`.
template <class T>
void permute(const Matrix<const std::type_identity_t<T>>& from, const std::int64_t* permutation,
             const Matrix<T>& to) noexcept {
  for (std::int64_t row = 0; row < to.rows; ++row) std::copy_n(from.row(permutation[row]), to.columns, to.row(row));
}

/// The other way round: row permutation[i] of `to` is row i of `from`.
template <class T>
void permute_back(const Matrix<const std::type_identity_t<T>>& from, const std::int64_t* permutation,
                  const Matrix<T>& to) noexcept {
  for (std::int64_t row = 0; row < to.rows; ++row) std::copy_n(from.row(row), to.columns, to.row(permutation[row]));
}

/// Whether every row is named once: whoever calls lu_solve may have made the permutation. `seen` is workspace for as
/// many.
bool is_permutation(const std::int64_t* permutation, std::int64_t count, std::int64_t* seen) noexcept {
  std::fill_n(seen, count, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    if (permutation[i] < 0 || permutation[i] >= count || ++seen[permutation[i]] > 1) return false;
  }
  return true;
}

template <class T>
void solve_factorised(const KernelContext<T>& context, const Matrix<const std::type_identity_t<T>>& lu,
                      const Matrix<T>& x) noexcept {
  solve_triangular<T>(context, lu, Triangle::lower, true, x);
  solve_triangular<T>(context, lu, Triangle::upper, false, x);
}

/// Rows that an exchange in place has put elsewhere.
template <class T>
void exchange(const std::int64_t* pivots, const Matrix<T>& x) noexcept {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    if (pivots[row] != row) std::swap_ranges(x.row(row), x.row(row) + x.columns, x.row(pivots[row]));
  }
}

}  // namespace

// a to LU, pivots, permutation
KernelRef prepare_lu_factor(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  const std::int64_t square = std::min(a.rows, a.columns);
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{cube(square), lu_width(a.rows, a.columns), 0, 0};
    return for_each_matrix<T>(
        a.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          const auto lu = Stack{0, a.count, a.rows, a.columns}.template at<T>(outputs[0], index);
          auto* pivots = numbers<std::int64_t>(outputs[1], index, square);
          copy_matrix<T>(a.at<const T>(inputs[0], index), lu);
          factorise_lu(mine.context, lu, pivots);
          permutation_of(pivots, square, numbers<std::int64_t>(outputs[2], index, a.rows), a.rows);
        });
  });
}

// LU, permutation, b to x
KernelRef prepare_lu_solve(const core::Step& step) {
  const Stack lu = stack_of(step.inputs[0]), b = stack_of(step.inputs[2]);
  if (no_matrices(b)) return no_work();
  const std::int64_t offset = step.inputs[1].view.offset;
  const bool transposed = std::get<core::FactoredAttributes>(*step.attributes).transposed;
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{2.0 * static_cast<double>(lu.rows * lu.rows) * static_cast<double>(b.columns),
                                b.columns, b.rows * b.columns, b.rows};
    return for_each_matrix<T>(
        b.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          const auto factors = lu.at<const T>(inputs[0], index), right = b.at<const T>(inputs[2], index);
          const auto x = Stack{0, b.count, b.rows, b.columns}.template at<T>(outputs[0], index);
          const auto* permutation = numbers<const std::int64_t>(inputs[1], 0) + offset + index * lu.rows;
          if (!is_permutation(permutation, lu.rows, mine.indices)) return fill_with_nan(x);
          if (!transposed) {
            permute<T>(right, permutation, x);
            return solve_factorised<T>(mine.context, factors, x);
          }
          const auto turned = dense(mine.workspace, b.rows, b.columns);
          copy_matrix<T>(right, turned);
          solve_triangular<T>(mine.context, factors.transposed(), Triangle::lower, false, turned);
          solve_triangular<T>(mine.context, factors.transposed(), Triangle::upper, true, turned);
          permute_back<T>(turned, permutation, x);
        });
  });
}

// a, b to x, LU, permutation, and where a pivot was zero
KernelRef prepare_solve(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]), b = stack_of(step.inputs[1]);
  if (no_matrices(a)) return no_work();
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{
        cube(a.rows) + 2.0 * static_cast<double>(a.rows * a.rows) * static_cast<double>(b.columns),
        std::max(a.columns, b.columns), 0, a.rows};
    return for_each_matrix<T>(
        a.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          const auto x = Stack{0, b.count, b.rows, b.columns}.template at<T>(outputs[0], index);
          const auto lu = Stack{0, a.count, a.rows, a.columns}.template at<T>(outputs[1], index);
          auto* permutation = numbers<std::int64_t>(outputs[2], index, a.rows);
          copy_matrix<T>(a.at<const T>(inputs[0], index), lu);
          const std::int64_t zero = factorise_lu(mine.context, lu, mine.indices);
          permutation_of(mine.indices, a.rows, permutation, a.rows);
          *numbers<std::int64_t>(outputs[3], index) = zero;
          if (zero != 0) return fill_with_nan(x);
          permute<T>(b.at<const T>(inputs[1], index), permutation, x);
          solve_factorised<T>(mine.context, lu, x);
        });
  });
}

// a to its inverse, and where a pivot was zero
KernelRef prepare_inv(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{2 * cube(a.rows), a.columns, a.rows * a.columns, a.rows};
    return for_each_matrix<T>(
        a.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          const auto x = Stack{0, a.count, a.rows, a.columns}.template at<T>(outputs[0], index);
          const auto lu = dense(mine.workspace, a.rows, a.columns);
          copy_matrix<T>(a.at<const T>(inputs[0], index), lu);
          const std::int64_t zero = factorise_lu(mine.context, lu, mine.indices);
          *numbers<std::int64_t>(outputs[1], index) = zero;
          if (zero != 0) return fill_with_nan(x);
          set_identity(x);
          exchange(mine.indices, x);
          solve_factorised<T>(mine.context, lu, x);
        });
  });
}

// a to its determinant, LU, pivots, permutation
KernelRef prepare_det(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{cube(a.rows), a.columns, 0, 0};
    return for_each_matrix<T>(
        a.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          const auto lu = Stack{0, a.count, a.rows, a.columns}.template at<T>(outputs[1], index);
          auto* pivots = numbers<std::int64_t>(outputs[2], index, a.rows);
          copy_matrix<T>(a.at<const T>(inputs[0], index), lu);
          factorise_lu(mine.context, lu, pivots);
          permutation_of(pivots, a.rows, numbers<std::int64_t>(outputs[3], index, a.rows), a.rows);
          T product = 1;
          for (std::int64_t i = 0; i < a.rows; ++i) product *= pivots[i] == i ? lu(i, i) : -lu(i, i);
          *numbers<T>(outputs[0], index) = product;
        });
  });
}

// a to its factor, and the order of the first minor that is not positive
KernelRef prepare_cholesky(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{cube(a.rows) / 3, a.columns, 0, 0};
    return for_each_matrix<T>(
        a.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          const auto factor = Stack{0, a.count, a.rows, a.columns}.template at<T>(outputs[0], index);
          copy_matrix<T>(a.at<const T>(inputs[0], index), factor);
          const std::int64_t bad = factorise_cholesky(mine.context, factor);
          *numbers<std::int64_t>(outputs[1], index) = bad;
          if (bad != 0) return fill_with_nan(factor);
          for (std::int64_t row = 0; row < a.rows; ++row)
            std::fill(factor.row(row) + row + 1, factor.row(row) + a.columns, T(0));
        });
  });
}

// a triangle and b to x; the first switch says upper, the second that ones stand on the diagonal
KernelRef prepare_triangular_solve(const core::Step& step) {
  const Stack t = stack_of(step.inputs[0]), b = stack_of(step.inputs[1]);
  if (no_matrices(b)) return no_work();
  const auto& attributes = std::get<core::TriangularAttributes>(*step.attributes);
  const Triangle triangle = attributes.upper ? Triangle::upper : Triangle::lower;
  const bool unit = attributes.unit;
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{static_cast<double>(t.rows * t.rows) * static_cast<double>(b.columns), b.columns, 0, 0};
    return for_each_matrix<T>(
        b.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          const auto x = Stack{0, b.count, b.rows, b.columns}.template at<T>(outputs[0], index);
          copy_matrix<T>(b.at<const T>(inputs[1], index), x);
          solve_triangular<T>(mine.context, t.at<const T>(inputs[0], index), triangle, unit, x);
        });
  });
}

}  // namespace tyto::cpu::linalg
