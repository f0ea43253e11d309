// SPDX-License-Identifier: MIT
// The kernels of orthogonal factorisations, eigenvalues and singular values, real or complex, and of the exponential;
// and the family's table.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/linalg/elements.hpp"
#include "devices/cpu/linalg/linalg_kernels.hpp"

namespace tyto::cpu::linalg {

namespace {

constexpr KernelEntry entries[] = {{core::OpId::lu_factor, prepare_lu_factor, all_dense},
                                   {core::OpId::lu_solve, prepare_lu_solve, all_dense},
                                   {core::OpId::solve, prepare_solve, all_dense},
                                   {core::OpId::inv, prepare_inv, all_dense},
                                   {core::OpId::det, prepare_det, all_dense},
                                   {core::OpId::cholesky, prepare_cholesky, all_dense},
                                   {core::OpId::triangular_solve, prepare_triangular_solve, all_dense},
                                   {core::OpId::qr, prepare_qr, all_dense},
                                   {core::OpId::eigh, prepare_eigh, all_dense},
                                   {core::OpId::eigvalsh, prepare_eigh, all_dense},
                                   {core::OpId::svd, prepare_svd, all_dense},
                                   {core::OpId::svdvals, prepare_svd, all_dense},
                                   {core::OpId::pinv, prepare_pinv, all_dense},
                                   {core::OpId::eig, prepare_eig, all_dense},
                                   {core::OpId::eigvals, prepare_eig, all_dense},
                                   {core::OpId::expm, prepare_expm, all_dense}};

/// Operations on real numbers: `factor` for each element of a matrix and row or column of it.
template <class E>
double work_of(double factor, Index rows, Index columns) {
  return E::products * factor * static_cast<double>(rows) * static_cast<double>(columns) *
         static_cast<double>(std::min(rows, columns));
}

/// Multiplies a matrix by a power of two that brings it near one, where products of some elements and of their inverses
/// neither overflow nor vanish. Returns the power that results are to be multiplied by; nothing where an element is not
/// finite.
template <class T>
std::optional<int> scale_to_unit(const Matrix<T>& a) noexcept {
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
  if (!std::isfinite(largest)) return {};
  constexpr double far = 1e3;
  if (largest == 0 || (largest < far && largest > 1 / far)) return 0;
  const int exponent = std::ilogb(largest);
  const T factor = static_cast<T>(std::ldexp(1.0, -exponent));
  const bool is_one_factor = std::isnormal(factor);
  for (std::int64_t row = 0; row < a.rows; ++row) {
    T* const to = a.row(row);
    for (std::int64_t column = 0; column < a.columns; ++column) {
      to[column] = is_one_factor ? to[column] * factor : std::ldexp(to[column], -exponent);
    }
  }
  return exponent;
}

template <class T>
std::optional<int> scale_to_unit(const Parts<T>& a) noexcept {
  const std::optional<int> exponent = exponent_of(a);
  if (exponent) scale_by(a, -*exponent);
  return exponent;
}

/// Fills a result that cannot be computed with NaN: so many real numbers.
template <class T>
void write_nan(T* to, Index count) noexcept {
  std::fill_n(to, count, std::numeric_limits<T>::quiet_NaN());
}
template <class E>
void write_nan(const E& work, std::size_t output, Index elements) noexcept {
  const Index count = (E::complex ? 2 : 1) * elements;
  write_nan(work.template numbers<typename E::Real>(output, count), count);
}

/// The work on a matrix that lies as it is, or on its adjoint where that has more rows.
struct Upright {
  bool turned;
  Index rows, columns;

  explicit Upright(const Stack& a)
      : turned(a.rows < a.columns), rows(std::max(a.rows, a.columns)), columns(std::min(a.rows, a.columns)) {}

  template <class T>
  void read(const RealMatrices<T>& work, const Stack& a, const Matrix<T>& to) const {
    work.read(a, 0, turned ? to.transposed() : to);
  }
  template <class T>
  void read(const ComplexMatrices<T>& work, const Stack& a, const Parts<T>& to) const {
    work.read(a, 0, turned ? transposed(to) : to);
    for (Index i = 0; turned && i < rows * columns; ++i) to.im.first[i] = -to.im.first[i];
  }
};

/// The first columns of Q, and R in the upper triangle of a.
template <class T>
void decompose_qr(const KernelContext<T>& context, const Matrix<T>& a, const Matrix<T>& q, T* workspace) noexcept {
  T* const factors = std::exchange(workspace, workspace + a.columns);
  factorise_qr(context, a, factors, workspace);
  form_q<T>(context, a, factors, q, workspace);
}

/// Above the diagonal may stand anything: it becomes what the solver takes it for, zeros or the other triangle.
template <class T>
void complete_upper(const Matrix<T>& a) noexcept {
  for (Index row = 0; row < a.rows; ++row) std::fill(a.row(row) + row + 1, a.row(row) + a.columns, T(0));
}
template <class T>
void complete_upper(const Parts<T>& a) noexcept {
  for (Index row = 0; row < a.re.rows; ++row) {
    a.im(row, row) = 0;
    for (Index column = row + 1; column < a.re.columns; ++column) {
      set(a, row, column, {a.re(column, row), -a.im(column, row)});
    }
  }
}

/// The pseudo-inverse V S U^H, whose row i of v is multiplied by shares[i] already, of the matrix that was worked with.
template <class T>
void write_pseudo_inverse(RealMatrices<T>& work, bool turned, const Matrix<T>& u, const Matrix<T>& v) {
  const auto inverse = turned ? work.result(0, u.rows, v.columns) : work.result(0, v.columns, u.rows);
  std::fill_n(inverse.first, inverse.rows * inverse.columns, T(0));
  if (turned) add_product<T>(work.context, u, v, inverse);
  else add_product<T>(work.context, v.transposed(), u.transposed(), inverse);
}
template <class T>
void write_pseudo_inverse(ComplexMatrices<T>& work, bool turned, const Parts<T>& u, const Parts<T>& v) {
  const auto inverse = work.result(0, v.re.columns, u.re.rows);
  std::fill_n(inverse.re.first, 2 * inverse.re.rows * inverse.re.columns, T(0));
  add_complex_product(work.context, transposed(v), transposed(u), inverse, Sign::plus, {true, true});
  if (turned) work.write_adjoint(inverse, 0);
  else work.write(inverse, 0);
}

}  // namespace

// a, no fewer rows than columns, to Q and R; Q has the columns of its result
KernelRef prepare_qr(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  const Index width = step.outputs[0].view.shape.back(), widest = std::max(a.columns, width);
  return with_elements(step, [&]<class E>() {
    const Index tools =
        E::complex ? complex_qr_workspace(a.rows, width) : a.columns + qr_workspace(a.rows, a.columns, width);
    const WorkEstimate estimate{work_of<E>(4, a.rows, widest), widest,
                                E::workspace_of(a.rows * a.columns, width * (a.rows + a.columns)) + tools, 0};
    return for_each_of<E>(a.count, estimate, [=](E work) {
      const auto q = work.result(0, a.rows, width), r = work.result(1, width, a.columns);
      const auto factored = work.own(a.rows, a.columns);
      work.read(a, 0, factored);
      decompose_qr(work.context, factored, q, work.workspace);
      const auto take_upper = [](const auto& from, const auto& to) {
        for (Index row = 0; row < to.rows; ++row) {
          const Index below = std::min(row, to.columns);
          std::fill_n(to.row(row), below, 0);
          std::copy(from.row(row) + below, from.row(row) + to.columns, to.row(row) + below);
        }
      };
      for_each_part(take_upper, factored, r);
      work.write(q, 0);
      work.write(r, 1);
    });
  });
}

// a to its eigenvalues, and to its eigenvectors where there is a result for them
KernelRef prepare_eigh(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  const Index n = a.rows;
  const bool vectors = step.outputs.size() > 1;
  return with_elements(step, [&]<class E>() {
    const Index tools = E::complex ? hermitian_workspace(n, vectors) : eigen_workspace(n, vectors);
    const WorkEstimate estimate{work_of<E>(vectors      ? 9
                                           : E::complex ? 4
                                                        : 2,
                                           n, n),
                                n, E::workspace_of(vectors ? 0 : n * n, vectors ? n * n : 0) + tools, 0};
    return for_each_of<E>(a.count, estimate, [=](E work) {
      auto* const values = work.template numbers<typename E::Real>(0, n);
      const auto matrix = vectors ? work.result(1, n, n) : work.own(n, n);
      work.read(a, 0, matrix);
      complete_upper(matrix);
      const std::optional<int> exponent = scale_to_unit(matrix);
      if (!exponent || !decompose_symmetric(work.context, matrix, vectors, values, work.workspace)) {
        write_nan(values, n);
        if (vectors) write_nan(work, 1, n * n);
        return;
      }
      for (Index i = 0; *exponent != 0 && i < n; ++i) values[i] = std::ldexp(values[i], *exponent);
      if (vectors) work.write(matrix, 1);
    });
  });
}

// a to U, the singular values and V^H, or to the values alone
KernelRef prepare_svd(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  const bool vectors = step.outputs.size() > 1;
  const Upright upright(a);
  const Index u_columns = vectors ? step.outputs[0].view.shape.back() : 0;
  const Index v_rows = vectors ? step.outputs[2].view.shape[step.outputs[2].view.rank() - 2] : 0;
  const Index left = upright.turned ? v_rows : u_columns, rows = upright.rows, size = upright.columns;
  return with_elements(step, [&]<class E>() {
    const Index both = vectors ? rows * left + size * size : 0;
    const Index tools =
        E::complex ? complex_singular_workspace(rows, size, left) : singular_workspace(rows, size, left);
    const WorkEstimate estimate{
        work_of<E>(vectors      ? 20
                   : E::complex ? 6
                                : 4,
                   rows, size),
        rows, E::workspace_of(rows * size + (upright.turned ? both : 0), upright.turned ? 0 : both) + tools, 0};
    return for_each_of<E>(a.count, estimate, [=](E work) {
      const auto matrix = work.own(rows, size);
      upright.read(work, a, matrix);
      auto* const values = work.template numbers<typename E::Real>(vectors ? 1 : 0, size);
      // The left vectors of the adjoint are the right ones, as columns.
      std::remove_const_t<decltype(matrix)> lefts, rights;
      if (vectors) {
        lefts = upright.turned ? work.own(rows, left) : work.result(0, rows, left);
        rights = upright.turned ? work.own(size, size) : work.result(2, size, size);
      }
      const std::optional<int> exponent = scale_to_unit(matrix);
      if (!exponent || !decompose_singular(work.context, matrix, values, lefts, rights, work.workspace)) {
        write_nan(values, size);
        if (!vectors) return;
        write_nan(work, 0, a.rows * u_columns);
        return write_nan(work, 2, v_rows * a.columns);
      }
      for (Index i = 0; *exponent != 0 && i < size; ++i) values[i] = std::ldexp(values[i], *exponent);
      if (!vectors) return;
      if (upright.turned) {
        work.write_adjoint(rights, 0);
        work.write_adjoint(lefts, 2);
      } else {
        work.write(lefts, 0);
        work.write(rights, 2);
      }
    });
  });
}

// a and the share of the largest singular value below which the others count as zero, to the pseudo-inverse and the
// singular values
KernelRef prepare_pinv(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  const Upright upright(a);
  const Index rows = upright.rows, size = upright.columns, offset = step.inputs[1].view.offset;
  return with_elements(step, [&]<class E>() {
    using T = typename E::Real;
    const Index tools =
        E::complex ? complex_singular_workspace(rows, size, size) : singular_workspace(rows, size, size);
    const WorkEstimate estimate{work_of<E>(20, rows, size), rows,
                                E::workspace_of(2 * rows * size + size * size, rows * size) + tools, 0};
    return for_each_of<E>(a.count, estimate, [=](E work) {
      const auto matrix = work.own(rows, size), u = work.own(rows, size), v = work.own(size, size);
      upright.read(work, a, matrix);
      T* const values = work.template numbers<T>(1, size);
      const std::optional<int> exponent = scale_to_unit(matrix);
      if (!exponent || !decompose_singular(work.context, matrix, values, u, v, work.workspace)) {
        write_nan(values, size);
        return write_nan(work, 0, a.rows * a.columns);
      }
      const T least = size == 0 ? T(0) : numbers<const T>(work.inputs[1], 0)[offset] * values[0];
      for (Index i = 0; i < size; ++i) {
        const bool counts = values[i] > least;
        values[i] = std::ldexp(values[i], *exponent);
        const T share = counts ? 1 / values[i] : T(0);
        const auto scale_row = [=](const Matrix<T>& part) {
          for (Index column = 0; column < size; ++column) part(i, column) *= share;
        };
        for_each_part(scale_row, v);
      }
      write_pseudo_inverse(work, upright.turned, u, v);
    });
  });
}

KernelRef prepare_expm(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  return with_real(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{
        20 * static_cast<double>(a.rows) * static_cast<double>(a.rows) * static_cast<double>(a.rows), a.rows,
        exponential_workspace(a.rows), a.rows};
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
