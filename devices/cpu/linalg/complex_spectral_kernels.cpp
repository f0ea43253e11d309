// SPDX-License-Identifier: MIT
// The kernels of QR, eigenvalues, singular values and pseudo-inverses of complex matrices.
#include <utility>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/linalg/complex_kernels.hpp"
#include "devices/cpu/linalg/complex_matrix_kernel.hpp"

namespace tyto::cpu::linalg {

namespace {

double work_of(double factor, Index rows, Index columns) {
  return 4 * factor * static_cast<double>(rows) * static_cast<double>(columns) *
         static_cast<double>(std::min(rows, columns));
}

/// The work on a matrix that lies as it is, or on its adjoint where that has more rows.
struct Upright {
  bool turned;
  Index rows, columns;

  explicit Upright(const Stack& a)
      : turned(a.rows < a.columns), rows(std::max(a.rows, a.columns)), columns(std::min(a.rows, a.columns)) {}

  template <class T>
  void read(const Stack& a, const core::Address& address, Index index, const Parts<T>& to) const {
    read_parts(a, address, index, turned ? transposed(to) : to);
    for (Index i = 0; turned && i < rows * columns; ++i) to.im.first[i] = -to.im.first[i];
  }
};

}  // namespace

// a, no fewer rows than columns, to Q and R; Q has the columns of its result
KernelRef prepare_complex_qr(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  const Index width = step.outputs[0].view.shape.back();
  return with_parts(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{
        work_of(4, a.rows, width), width,
        2 * a.rows * (a.columns + width) + 2 * width * a.columns + complex_qr_workspace(a.rows, width), 0};
    return for_each_matrix<T>(
        a.count, estimate, [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
          WorkspaceParts<T> pieces(mine.workspace);
          const Parts<T> factored = pieces.matrix(a.rows, a.columns), q = pieces.matrix(a.rows, width);
          const Parts<T> r = pieces.matrix(width, a.columns);
          read_parts(a, inputs[0], index, factored);
          decompose_complex_qr(mine.context, factored, q, pieces.rest());
          for (Index row = 0; row < width; ++row) {
            for (Index column = 0; column < a.columns; ++column) {
              set(r, row, column, column < row ? Number<T>{} : get(factored, row, column));
            }
          }
          write_parts(q, outputs[0], index);
          write_parts(r, outputs[1], index);
        });
  });
}

// a to its eigenvalues, and to its eigenvectors where there is a result for them
KernelRef prepare_complex_eigh(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  const Index n = a.rows;
  const bool wanted = step.outputs.size() > 1;
  return with_parts(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{work_of(wanted ? 9 : 4, n, n), n,
                                (wanted ? 4 : 2) * n * n + hermitian_workspace(n, wanted), 0};
    return for_each_matrix<T>(
        a.count, estimate, [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
          WorkspaceParts<T> pieces(mine.workspace);
          const Parts<T> work = pieces.matrix(n, n), vectors = wanted ? pieces.matrix(n, n) : Parts<T>();
          T* const values = numbers<T>(outputs[0], index, n);
          read_parts(a, inputs[0], index, work);
          // The lower triangle is read; the solver works on both.
          for (Index row = 0; row < n; ++row) {
            work.im(row, row) = 0;
            for (Index column = row + 1; column < n; ++column) {
              set(work, row, column, {work.re(column, row), -work.im(column, row)});
            }
          }
          const std::optional<int> exponent = exponent_of(work);
          if (exponent) scale_by(work, -*exponent);
          if (!exponent || !decompose_hermitian(mine.context, work, vectors, values, pieces.rest())) {
            std::fill_n(values, n, std::numeric_limits<T>::quiet_NaN());
            if (wanted) write_nan<T>(outputs[1], index, n * n);
            return;
          }
          for (Index i = 0; i < n; ++i) values[i] = std::ldexp(values[i], *exponent);
          if (wanted) write_parts(vectors, outputs[1], index);
        });
  });
}

// a to U, the singular values and V^H, or to the values alone
KernelRef prepare_complex_svd(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  const bool wanted = step.outputs.size() > 1;
  const Upright upright(a);
  const Index u_columns = wanted ? step.outputs[0].view.shape.back() : 0;
  const Index v_rows = wanted ? step.outputs[2].view.shape[step.outputs[2].view.rank() - 2] : 0;
  const Index left = upright.turned ? v_rows : u_columns, rows = upright.rows, size = upright.columns;
  return with_parts(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{
        work_of(wanted ? 20 : 6, rows, size), rows,
        2 * (rows * size + rows * left + size * size) + complex_singular_workspace(rows, size, wanted ? left : 0), 0};
    return for_each_matrix<T>(
        a.count, estimate, [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
          WorkspaceParts<T> pieces(mine.workspace);
          const Parts<T> work = pieces.matrix(rows, size);
          const Parts<T> lefts = wanted ? pieces.matrix(rows, left) : Parts<T>();
          const Parts<T> rights = wanted ? pieces.matrix(size, size) : Parts<T>();
          T* const values = numbers<T>(outputs[wanted ? 1 : 0], index, size);
          upright.read(a, inputs[0], index, work);
          const std::optional<int> exponent = exponent_of(work);
          if (exponent) scale_by(work, -*exponent);
          if (!exponent || !decompose_complex_singular(mine.context, work, values, lefts, rights, pieces.rest())) {
            std::fill_n(values, size, std::numeric_limits<T>::quiet_NaN());
            if (!wanted) return;
            write_nan<T>(outputs[0], index, a.rows * u_columns);
            return write_nan<T>(outputs[2], index, v_rows * a.columns);
          }
          for (Index i = 0; i < size; ++i) values[i] = std::ldexp(values[i], *exponent);
          if (!wanted) return;
          if (upright.turned) {
            write_parts(transposed(rights), outputs[0], index, true);
            write_parts(transposed(lefts), outputs[2], index, true);
          } else {
            write_parts(lefts, outputs[0], index);
            write_parts(rights, outputs[2], index);
          }
        });
  });
}

// a and the share of the largest singular value below which the others count as zero, to the pseudo-inverse and the
// singular values
KernelRef prepare_complex_pinv(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  const Upright upright(a);
  const Index rows = upright.rows, size = upright.columns, offset = step.inputs[1].view.offset;
  return with_parts(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{work_of(20, rows, size), rows,
                                2 * (3 * rows * size + size * size) + complex_singular_workspace(rows, size, size), 0};
    return for_each_matrix<T>(
        a.count, estimate, [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
          WorkspaceParts<T> pieces(mine.workspace);
          const Parts<T> work = pieces.matrix(rows, size), u = pieces.matrix(rows, size), v = pieces.matrix(size, size);
          const Parts<T> inverse = pieces.matrix(size, rows);
          T* const values = numbers<T>(outputs[1], index, size);
          upright.read(a, inputs[0], index, work);
          const std::optional<int> exponent = exponent_of(work);
          if (exponent) scale_by(work, -*exponent);
          if (!exponent || !decompose_complex_singular(mine.context, work, values, u, v, pieces.rest())) {
            std::fill_n(values, size, std::numeric_limits<T>::quiet_NaN());
            return write_nan<T>(outputs[0], index, a.rows * a.columns);
          }
          const T least = size == 0 ? T(0) : numbers<const T>(inputs[1], 0)[offset] * values[0];
          for (Index i = 0; i < size; ++i) {
            const bool counts = values[i] > least;
            values[i] = std::ldexp(values[i], *exponent);
            const T share = counts ? 1 / values[i] : T(0);
            for (Index column = 0; column < size; ++column) {
              v.re(i, column) *= share;
              v.im(i, column) *= share;
            }
          }
          // V diag(1 / s) U^H of the matrix as it was worked with.
          std::fill_n(inverse.re.first, 2 * size * rows, T(0));
          add_complex_product(mine.context, transposed(v), transposed(u), inverse, Sign::plus, {true, true});
          if (upright.turned) write_parts(transposed(inverse), outputs[0], index, true);
          else write_parts(inverse, outputs[0], index);
        });
  });
}

}  // namespace tyto::cpu::linalg
