// SPDX-License-Identifier: MIT
// The kernels that solve complex systems of equations.
#include "core/graph/op_ids.hpp"
#include "devices/cpu/linalg/complex_kernels.hpp"
#include "devices/cpu/linalg/complex_matrix_kernel.hpp"

namespace tyto::cpu::linalg {

namespace {

/// A complex product makes four real ones.
double cube(Index size) {
  return 4.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
}

template <class T>
void permute(const Parts<T>& from, const std::int64_t* permutation, const Parts<T>& to) noexcept {
  for (Index row = 0; row < to.re.rows; ++row) {
    std::copy_n(from.re.row(permutation[row]), to.re.columns, to.re.row(row));
    std::copy_n(from.im.row(permutation[row]), to.im.columns, to.im.row(row));
  }
}

template <class T>
void permute_back(const Parts<T>& from, const std::int64_t* permutation, const Parts<T>& to) noexcept {
  for (Index row = 0; row < to.re.rows; ++row) {
    std::copy_n(from.re.row(row), to.re.columns, to.re.row(permutation[row]));
    std::copy_n(from.im.row(row), to.im.columns, to.im.row(permutation[row]));
  }
}

bool is_permutation(const std::int64_t* permutation, Index count, std::int64_t* seen) noexcept {
  std::fill_n(seen, count, 0);
  for (Index i = 0; i < count; ++i) {
    if (permutation[i] < 0 || permutation[i] >= count || ++seen[permutation[i]] > 1) return false;
  }
  return true;
}

template <class T>
void solve_factorised(const KernelContext<T>& context, const Parts<T>& lu, const Parts<T>& x) noexcept {
  solve_complex_triangular(context, lu, Triangle::lower, true, x);
  solve_complex_triangular(context, lu, Triangle::upper, false, x);
}

}  // namespace

// a to LU, pivots, permutation
KernelRef prepare_complex_lu_factor(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  const Index square = std::min(a.rows, a.columns);
  return with_parts(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{cube(square), a.columns, 2 * a.rows * a.columns, 0};
    return for_each_matrix<T>(
        a.count, estimate, [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
          const Parts<T> lu = dense_parts(mine.workspace, a.rows, a.columns);
          auto* pivots = numbers<std::int64_t>(outputs[1], index, square);
          read_parts(a, inputs[0], index, lu);
          factorise_complex_lu(mine.context, lu, pivots);
          permutation_of(pivots, square, numbers<std::int64_t>(outputs[2], index, a.rows), a.rows);
          write_parts(lu, outputs[0], index);
        });
  });
}

// LU, permutation, b to x
KernelRef prepare_complex_lu_solve(const core::Step& step) {
  const Stack lu = stack_of(step.inputs[0]), b = stack_of(step.inputs[2]);
  if (no_matrices(b)) return no_work();
  const Index offset = step.inputs[1].view.offset;
  const bool turned = std::get<core::FactoredAttributes>(*step.attributes).transposed;
  return with_parts(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{8.0 * static_cast<double>(lu.rows * lu.rows) * static_cast<double>(b.columns),
                                std::max(b.columns, lu.rows), 2 * lu.rows * lu.rows + 4 * b.rows * b.columns, b.rows};
    return for_each_matrix<T>(
        b.count, estimate, [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
          WorkspaceParts<T> pieces(mine.workspace);
          const Parts<T> factors = pieces.matrix(lu.rows, lu.rows), right = pieces.matrix(b.rows, b.columns);
          const Parts<T> x = pieces.matrix(b.rows, b.columns);
          const auto* permutation = numbers<const std::int64_t>(inputs[1], 0) + offset + index * lu.rows;
          if (!is_permutation(permutation, lu.rows, mine.indices)) {
            return write_nan<T>(outputs[0], index, b.rows * b.columns);
          }
          read_parts(lu, inputs[0], index, factors);
          read_parts(b, inputs[2], index, right);
          if (!turned) {
            permute(right, permutation, x);
            solve_factorised(mine.context, factors, x);
          } else {
            solve_complex_triangular(mine.context, transposed(factors), Triangle::lower, false, right);
            solve_complex_triangular(mine.context, transposed(factors), Triangle::upper, true, right);
            permute_back(right, permutation, x);
          }
          write_parts(x, outputs[0], index);
        });
  });
}

// a, b to x, LU, permutation, and where a pivot was zero
KernelRef prepare_complex_solve(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]), b = stack_of(step.inputs[1]);
  if (no_matrices(a)) return no_work();
  return with_parts(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{
        cube(a.rows) + 8.0 * static_cast<double>(a.rows * a.rows) * static_cast<double>(b.columns),
        std::max(a.columns, b.columns), 2 * a.rows * a.rows + 4 * b.rows * b.columns, a.rows};
    return for_each_matrix<T>(
        a.count, estimate, [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
          WorkspaceParts<T> pieces(mine.workspace);
          const Parts<T> lu = pieces.matrix(a.rows, a.rows), right = pieces.matrix(b.rows, b.columns);
          const Parts<T> x = pieces.matrix(b.rows, b.columns);
          auto* permutation = numbers<std::int64_t>(outputs[2], index, a.rows);
          read_parts(a, inputs[0], index, lu);
          const Index zero = factorise_complex_lu(mine.context, lu, mine.indices);
          permutation_of(mine.indices, a.rows, permutation, a.rows);
          *numbers<std::int64_t>(outputs[3], index) = zero;
          write_parts(lu, outputs[1], index);
          if (zero != 0) return write_nan<T>(outputs[0], index, b.rows * b.columns);
          read_parts(b, inputs[1], index, right);
          permute(right, permutation, x);
          solve_factorised(mine.context, lu, x);
          write_parts(x, outputs[0], index);
        });
  });
}

// a to its inverse, and where a pivot was zero
KernelRef prepare_complex_inv(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  return with_parts(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{2 * cube(a.rows), a.columns, 4 * a.rows * a.rows, 2 * a.rows};
    return for_each_matrix<T>(a.count, estimate,
                              [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
                                WorkspaceParts<T> pieces(mine.workspace);
                                const Parts<T> lu = pieces.matrix(a.rows, a.rows), x = pieces.matrix(a.rows, a.rows);
                                read_parts(a, inputs[0], index, lu);
                                const Index zero = factorise_complex_lu(mine.context, lu, mine.indices);
                                *numbers<std::int64_t>(outputs[1], index) = zero;
                                if (zero != 0) return write_nan<T>(outputs[0], index, a.rows * a.rows);
                                std::int64_t* const permutation = mine.indices + a.rows;
                                permutation_of(mine.indices, a.rows, permutation, a.rows);
                                std::fill_n(x.re.first, 2 * a.rows * a.rows, T(0));
                                for (Index row = 0; row < a.rows; ++row) x.re(row, permutation[row]) = 1;
                                solve_factorised(mine.context, lu, x);
                                write_parts(x, outputs[0], index);
                              });
  });
}

// a to its determinant, LU, pivots, permutation
KernelRef prepare_complex_det(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  return with_parts(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{cube(a.rows), a.columns, 2 * a.rows * a.rows, 0};
    return for_each_matrix<T>(
        a.count, estimate, [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
          const Parts<T> lu = dense_parts(mine.workspace, a.rows, a.rows);
          auto* pivots = numbers<std::int64_t>(outputs[2], index, a.rows);
          read_parts(a, inputs[0], index, lu);
          factorise_complex_lu(mine.context, lu, pivots);
          permutation_of(pivots, a.rows, numbers<std::int64_t>(outputs[3], index, a.rows), a.rows);
          Number<T> product{1, 0};
          for (Index i = 0; i < a.rows; ++i) {
            product = product * (pivots[i] == i ? get(lu, i, i) : Number<T>{} - get(lu, i, i));
          }
          write_parts(lu, outputs[1], index);
          T* const result = numbers<T>(outputs[0], index, 2);
          result[0] = product.re;
          result[1] = product.im;
        });
  });
}

// a to its factor, and the order of the first minor that is not positive
KernelRef prepare_complex_cholesky(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  if (no_matrices(a)) return no_work();
  return with_parts(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{cube(a.rows) / 3, a.columns, 2 * a.rows * a.rows, 0};
    return for_each_matrix<T>(a.count, estimate,
                              [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
                                const Parts<T> factor = dense_parts(mine.workspace, a.rows, a.rows);
                                read_parts(a, inputs[0], index, factor);
                                const Index bad = factorise_complex_cholesky(mine.context, factor);
                                *numbers<std::int64_t>(outputs[1], index) = bad;
                                if (bad != 0) return write_nan<T>(outputs[0], index, a.rows * a.rows);
                                for (Index row = 0; row < a.rows; ++row) {
                                  for (Index column = row + 1; column < a.rows; ++column) set(factor, row, column, {});
                                }
                                write_parts(factor, outputs[0], index);
                              });
  });
}

// a triangle and b to x
KernelRef prepare_complex_triangular_solve(const core::Step& step) {
  const Stack t = stack_of(step.inputs[0]), b = stack_of(step.inputs[1]);
  if (no_matrices(b)) return no_work();
  const auto& attributes = std::get<core::TriangularAttributes>(*step.attributes);
  const Triangle triangle = attributes.upper ? Triangle::upper : Triangle::lower;
  const bool unit = attributes.unit;
  return with_parts(step, [&]<class T>(std::type_identity<T>) {
    const WorkEstimate estimate{4.0 * static_cast<double>(t.rows * t.rows) * static_cast<double>(b.columns), b.columns,
                                2 * t.rows * t.rows + 2 * b.rows * b.columns, 0};
    return for_each_matrix<T>(b.count, estimate,
                              [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
                                WorkspaceParts<T> pieces(mine.workspace);
                                const Parts<T> of = pieces.matrix(t.rows, t.rows), x = pieces.matrix(b.rows, b.columns);
                                read_parts(t, inputs[0], index, of);
                                read_parts(b, inputs[1], index, x);
                                solve_complex_triangular(mine.context, of, triangle, unit, x);
                                write_parts(x, outputs[0], index);
                              });
  });
}

}  // namespace tyto::cpu::linalg
