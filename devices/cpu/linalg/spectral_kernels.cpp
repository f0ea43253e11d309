// SPDX-License-Identifier: MIT
// The kernels of orthogonal factorisations, eigenvalues and singular values, and of the exponential; and the family's
// table.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/linalg/complex_kernels.hpp"
#include "devices/cpu/linalg/factorisations.hpp"
#include "devices/cpu/linalg/linalg_kernels.hpp"
#include "devices/cpu/linalg/matrix_kernel.hpp"

namespace tyto::cpu::linalg {

namespace {

/// The kernel for real matrices or for complex ones.
template <KernelRef (*real)(const core::Step&), KernelRef (*complex)(const core::Step&)>
KernelRef either(const core::Step& step) {
  return is_complex(step.inputs[0].dtype) ? complex(step) : real(step);
}

constexpr KernelEntry entries[] = {
    {core::OpId::lu_factor, either<prepare_lu_factor, prepare_complex_lu_factor>, all_dense},
    {core::OpId::lu_solve, either<prepare_lu_solve, prepare_complex_lu_solve>, all_dense},
    {core::OpId::solve, either<prepare_solve, prepare_complex_solve>, all_dense},
    {core::OpId::inv, either<prepare_inv, prepare_complex_inv>, all_dense},
    {core::OpId::det, either<prepare_det, prepare_complex_det>, all_dense},
    {core::OpId::cholesky, either<prepare_cholesky, prepare_complex_cholesky>, all_dense},
    {core::OpId::triangular_solve, either<prepare_triangular_solve, prepare_complex_triangular_solve>, all_dense},
    {core::OpId::qr, either<prepare_qr, prepare_complex_qr>, all_dense},
    {core::OpId::eigh, either<prepare_eigh, prepare_complex_eigh>, all_dense},
    {core::OpId::eigvalsh, either<prepare_eigh, prepare_complex_eigh>, all_dense},
    {core::OpId::svd, either<prepare_svd, prepare_complex_svd>, all_dense},
    {core::OpId::svdvals, either<prepare_svd, prepare_complex_svd>, all_dense},
    {core::OpId::pinv, either<prepare_pinv, prepare_complex_pinv>, all_dense},
    {core::OpId::eig, prepare_eig, all_dense},
    {core::OpId::eigvals, prepare_eig, all_dense},
    {core::OpId::expm, prepare_expm, all_dense}};

double work_of(double factor, std::int64_t rows, std::int64_t columns) {
  return factor * static_cast<double>(rows) * static_cast<double>(columns) *
         static_cast<double>(std::min(rows, columns));
}

/// Multiplies a matrix by a power of two that brings it near one, where products of some elements and of their inverses
/// neither overflow nor vanish. Returns what the results are to be multiplied by, or NaN where an element is not
/// finite.
template <class T>
T scale_to_unit(const Matrix<T>& a) noexcept {
  // As integers the bits of numbers without a sign are in the same order, with infinity and NaN behind all others, and
  // compilers make vectors of the comparisons.
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr Bits sign = Bits(1) << (8 * sizeof(T) - 1);
  Bits most = 0;
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const T* const from = a.row(row);
    for (std::int64_t column = 0; column < a.columns; ++column) {
      const Bits size = std::bit_cast<Bits>(from[column]) & ~sign;
      most = most < size ? size : most;
    }
  }
  const auto largest = static_cast<double>(std::bit_cast<T>(most));
  if (!std::isfinite(largest)) return std::numeric_limits<T>::quiet_NaN();
  constexpr double far = 1e3;
  if (largest == 0 || (largest < far && largest > 1 / far)) return 1;
  const int exponent = std::ilogb(largest);
  const T factor = static_cast<T>(std::ldexp(1.0, -exponent));
  const bool is_one_factor = std::isnormal(factor);
  for (std::int64_t row = 0; row < a.rows; ++row) {
    T* const to = a.row(row);
    for (std::int64_t column = 0; column < a.columns; ++column) {
      to[column] = is_one_factor ? to[column] * factor : std::ldexp(to[column], -exponent);
    }
  }
  return static_cast<T>(std::ldexp(1.0, exponent));
}

/// The work on a matrix that lies as it is, or on its transpose where that has more rows.
struct Upright {
  bool turned;
  std::int64_t rows;
  std::int64_t columns;

  explicit Upright(const Stack& a)
      : turned(a.rows < a.columns), rows(std::max(a.rows, a.columns)), columns(std::min(a.rows, a.columns)) {}
};

}  // namespace

// a, no fewer rows than columns, to Q and R; Q has the columns of its result
KernelRef prepare_qr(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  const std::int64_t q_columns = step.outputs[0].view.shape.back();
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{work_of(4, a.rows, std::max(a.columns, q_columns)), std::max(a.columns, q_columns),
                                a.rows * a.columns + a.columns + qr_workspace(a.rows, a.columns, q_columns), 0};
    return for_each_matrix<T>(
        a.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          const auto q = Stack{0, a.count, a.rows, q_columns}.template at<T>(outputs[0], index);
          const auto r = Stack{0, a.count, q_columns, a.columns}.template at<T>(outputs[1], index);
          const auto factored = dense(mine.workspace, a.rows, a.columns);
          T *factors = factored.row(a.rows), *workspace = factors + a.columns;
          copy_matrix<T>(a.at<const T>(inputs[0], index), factored);
          factorise_qr(mine.context, factored, factors, workspace);
          form_q<T>(mine.context, factored, factors, q, workspace);
          for (std::int64_t row = 0; row < r.rows; ++row) {
            const std::int64_t below = std::min(row, r.columns);
            std::fill_n(r.row(row), below, T(0));
            std::copy(factored.row(row) + below, factored.row(row) + r.columns, r.row(row) + below);
          }
        });
  });
}

// a to its eigenvalues, and to its eigenvectors where there is a result for them
KernelRef prepare_eigh(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  const bool vectors = step.outputs.size() > 1;
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{work_of(vectors ? 9 : 2, a.rows, a.rows), a.rows,
                                eigen_workspace(a.rows, vectors) + (vectors ? 0 : a.rows * a.rows), 0};
    return for_each_matrix<T>(
        a.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          T* values = numbers<T>(outputs[0], index, a.rows);
          const auto work = vectors ? Stack{0, a.count, a.rows, a.rows}.template at<T>(outputs[1], index)
                                    : dense(mine.workspace, a.rows, a.rows);
          T* workspace = vectors ? mine.workspace : work.row(a.rows);
          // Above the diagonal may stand anything.
          const auto from = a.at<const T>(inputs[0], index);
          for (std::int64_t row = 0; row < a.rows; ++row) {
            std::copy_n(from.row(row), row + 1, work.row(row));
            std::fill(work.row(row) + row + 1, work.row(row) + a.rows, T(0));
          }
          const T scale = scale_to_unit(work);
          if (scale != scale || !decompose_symmetric(mine.context, work, vectors, values, workspace)) {
            std::fill_n(values, a.rows, std::numeric_limits<T>::quiet_NaN());
            return fill_with_nan(work);
          }
          for (std::int64_t i = 0; scale != 1 && i < a.rows; ++i) values[i] *= scale;
        });
  });
}

// a to U, the singular values and V^T, or to the values alone
KernelRef prepare_svd(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  const bool vectors = step.outputs.size() > 1;
  const Upright upright(a);
  const std::int64_t u_columns = vectors ? step.outputs[0].view.shape.back() : 0;
  const std::int64_t v_rows = vectors ? step.outputs[2].view.shape[step.outputs[2].view.rank() - 2] : 0;
  const std::int64_t left = upright.turned ? v_rows : u_columns;
  const std::int64_t size = upright.columns;
  // The left vectors of the transpose are the right ones, as columns.
  const std::int64_t turned_workspace = vectors && upright.turned ? upright.rows * left + size * size : 0;
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{work_of(vectors ? 20 : 4, upright.rows, size), upright.rows,
                                upright.rows * size + turned_workspace + singular_workspace(upright.rows, size, left),
                                0};
    return for_each_matrix<T>(
        a.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          const auto work = dense(mine.workspace, upright.rows, size);
          const auto from = a.at<const T>(inputs[0], index);
          copy_matrix<T>(upright.turned ? from.transposed() : from, work);
          T* values = numbers<T>(outputs[vectors ? 1 : 0], index, size);
          T* workspace = work.row(upright.rows);
          Matrix<T> u, v, lefts, rights;
          if (vectors) {
            u = Stack{0, a.count, a.rows, u_columns}.template at<T>(outputs[0], index);
            v = Stack{0, a.count, v_rows, a.columns}.template at<T>(outputs[2], index);
            lefts = upright.turned ? dense(workspace, upright.rows, left) : u;
            rights = upright.turned ? dense(lefts.row(upright.rows), size, size) : v;
            workspace += turned_workspace;
          }
          const T scale = scale_to_unit(work);
          if (scale != scale || !decompose_singular(mine.context, work, values, lefts, rights, workspace)) {
            std::fill_n(values, size, std::numeric_limits<T>::quiet_NaN());
            fill_with_nan(u);
            return fill_with_nan(v);
          }
          for (std::int64_t i = 0; scale != 1 && i < size; ++i) values[i] *= scale;
          if (vectors && upright.turned) {
            copy_matrix<T>(rights.transposed(), u);
            copy_matrix<T>(lefts.transposed(), v);
          }
        });
  });
}

// a and the share of the largest singular value below which the others count as zero, to the pseudo-inverse and the
// singular values
KernelRef prepare_pinv(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  const Upright upright(a);
  const std::int64_t size = upright.columns, offset = step.inputs[1].view.offset;
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{work_of(20, upright.rows, size), upright.rows,
                                2 * upright.rows * size + size * size + singular_workspace(upright.rows, size, size),
                                0};
    return for_each_matrix<T>(
        a.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          const auto work = dense(mine.workspace, upright.rows, size),
                     u = dense(work.row(upright.rows), upright.rows, size);
          const auto v = dense(u.row(upright.rows), size, size);
          const auto from = a.at<const T>(inputs[0], index);
          copy_matrix<T>(upright.turned ? from.transposed() : from, work);
          T* values = numbers<T>(outputs[1], index, size);
          const auto inverse = Stack{0, a.count, a.columns, a.rows}.template at<T>(outputs[0], index);
          const T scale = scale_to_unit(work);
          if (scale != scale || !decompose_singular(mine.context, work, values, u, v, v.row(size))) {
            std::fill_n(values, size, std::numeric_limits<T>::quiet_NaN());
            return fill_with_nan(inverse);
          }
          const T least = size == 0 ? T(0) : numbers<const T>(inputs[1], 0)[offset] * values[0];
          for (std::int64_t i = 0; i < size; ++i) {
            values[i] *= scale;
            const T share = values[i] > least * scale ? 1 / values[i] : T(0);
            for (std::int64_t column = 0; column < size; ++column) v(i, column) *= share;
          }
          std::fill_n(inverse.first, a.rows * a.columns, T(0));
          if (upright.turned) {
            add_product<T>(mine.context, u, v, inverse);
          } else {
            add_product<T>(mine.context, v.transposed(), u.transposed(), inverse);
          }
        });
  });
}

KernelRef prepare_expm(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{work_of(20, a.rows, a.rows), a.rows, exponential_workspace(a.rows), a.rows};
    return for_each_matrix<T>(
        a.count, estimate,
        [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
          exponential<T>(mine.context, a.at<const T>(inputs[0], index),
                         Stack{0, a.count, a.rows, a.rows}.template at<T>(outputs[0], index), mine.indices,
                         mine.workspace);
        });
  });
}

}  // namespace tyto::cpu::linalg

namespace tyto::cpu {

std::span<const KernelEntry> linalg_kernels() { return linalg::entries; }

}  // namespace tyto::cpu
