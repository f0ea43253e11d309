// SPDX-License-Identifier: MIT
// The kernels that solve systems of equations, real or complex: LU, Cholesky, triangles, and what is made of them.
#include <algorithm>

#include "devices/cpu/linalg/elements.hpp"
#include "devices/cpu/linalg/linalg_kernels.hpp"

namespace tyto::cpu::linalg {

namespace {

double cube(Index size) { return static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size); }

/// The operations of a solution by two triangles.
double solution(const Stack& a, const Stack& b) {
  return 2.0 * static_cast<double>(a.rows * a.rows) * static_cast<double>(b.columns);
}

/// Row i of `to` is row permutation[i] of `from`.
template <class From, class To>
void permute(const From& from, const std::int64_t* permutation, const To& to) noexcept {
  const auto copy_rows = [=](const auto& source, const auto& target) {
    for (Index row = 0; row < target.rows; ++row) {
      std::copy_n(source.row(permutation[row]), target.columns, target.row(row));
    }
  };
  for_each_part(copy_rows, from, to);
}

/// The other way round: row permutation[i] of `to` is row i of `from`.
template <class M>
void permute_back(const M& from, const std::int64_t* permutation, const M& to) noexcept {
  const auto copy_rows = [=](const auto& source, const auto& target) {
    for (Index row = 0; row < target.rows; ++row) {
      std::copy_n(source.row(row), target.columns, target.row(permutation[row]));
    }
  };
  for_each_part(copy_rows, from, to);
}

/// Rows that an exchange in place has put elsewhere.
template <class M>
void exchange(const std::int64_t* pivots, const M& a) noexcept {
  const auto exchange_rows = [=](const auto& x) {
    for (Index row = 0; row < x.rows; ++row) {
      if (pivots[row] != row) std::swap_ranges(x.row(row), x.row(row) + x.columns, x.row(pivots[row]));
    }
  };
  for_each_part(exchange_rows, a);
}

/// Whether every row is named once: whoever calls lu_solve may have made the permutation. `seen` is workspace for as
/// many.
bool is_permutation(const std::int64_t* permutation, Index count, std::int64_t* seen) noexcept {
  std::fill_n(seen, count, 0);
  for (Index i = 0; i < count; ++i) {
    if (permutation[i] < 0 || permutation[i] >= count || ++seen[permutation[i]] > 1) return false;
  }
  return true;
}

template <class T, class M>
void solve_factorised(const KernelContext<T>& context, const auto& lu, const M& x) noexcept {
  solve_triangular(context, lu, Triangle::lower, true, x);
  solve_triangular(context, lu, Triangle::upper, false, x);
}

/// The product of the pivots, with their exchanges' sign.
template <class T>
T product_of_pivots(const Matrix<T>& lu, const std::int64_t* pivots) noexcept {
  T product = 1;
  for (Index i = 0; i < lu.rows; ++i) product *= pivots[i] == i ? lu(i, i) : -lu(i, i);
  return product;
}
template <class T>
Number<T> product_of_pivots(const Parts<T>& lu, const std::int64_t* pivots) noexcept {
  Number<T> product{1, 0};
  for (Index i = 0; i < lu.re.rows; ++i) {
    product = product * (pivots[i] == i ? get(lu, i, i) : Number<T>{} - get(lu, i, i));
  }
  return product;
}

}  // namespace

// a to LU, pivots, permutation
KernelRef prepare_lu_factor(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  const Index square = std::min(a.rows, a.columns);
  return with_elements(step, [&]<class E>() {
    const WorkEstimate estimate{E::products * cube(square), E::complex ? a.columns : lu_width(a.rows, a.columns),
                                E::workspace_of(0, a.rows * a.columns), 0};
    return for_each_of<E>(a.count, estimate, [=](E work) {
      const auto lu = work.result(0, a.rows, a.columns);
      auto* const pivots = work.template numbers<std::int64_t>(1, square);
      work.read(a, 0, lu);
      factorise_lu(work.context, lu, pivots);
      permutation_of(pivots, square, work.template numbers<std::int64_t>(2, a.rows), a.rows);
      work.write(lu, 0);
    });
  });
}

// LU, permutation, b to x
KernelRef prepare_lu_solve(const core::Step& step) {
  const Stack lu = stack_of(step.inputs[0]), b = stack_of(step.inputs[2]);
  const Index offset = step.inputs[1].view.offset, size = b.rows * b.columns;
  const bool turned = std::get<core::FactoredAttributes>(*step.attributes).transposed;
  return with_elements(step, [&]<class E>() {
    const WorkEstimate estimate{E::products * solution(lu, b), b.columns,
                                E::workspace_of(size, lu.rows * lu.rows + size), b.rows};
    return for_each_of<E>(b.count, estimate, [=](E work) {
      const auto* permutation = numbers<const std::int64_t>(work.inputs[1], 0) + offset + work.index * lu.rows;
      const auto x = work.result(0, b.rows, b.columns);
      if (!is_permutation(permutation, lu.rows, work.indices)) {
        fill_with_nan(x);
        return work.write(x, 0);
      }
      const auto factors = work.operand(lu, 0);
      if (!turned) {
        permute(work.operand(b, 2), permutation, x);
        solve_factorised(work.context, factors, x);
      } else {
        const auto right = work.own(b.rows, b.columns);
        work.read(b, 2, right);
        solve_triangular(work.context, transposed(factors), Triangle::lower, false, right);
        solve_triangular(work.context, transposed(factors), Triangle::upper, true, right);
        permute_back(right, permutation, x);
      }
      work.write(x, 0);
    });
  });
}

// a, b to x, LU, permutation, and where a pivot was zero
KernelRef prepare_solve(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]), b = stack_of(step.inputs[1]);
  return with_elements(step, [&]<class E>() {
    const WorkEstimate estimate{E::products * (cube(a.rows) + solution(a, b)), std::max(a.columns, b.columns),
                                E::workspace_of(0, a.rows * a.rows + 2 * b.rows * b.columns), a.rows};
    return for_each_of<E>(a.count, estimate, [=](E work) {
      const auto x = work.result(0, b.rows, b.columns);
      const auto lu = work.result(1, a.rows, a.columns);
      auto* const permutation = work.template numbers<std::int64_t>(2, a.rows);
      work.read(a, 0, lu);
      const Index zero = factorise_lu(work.context, lu, work.indices);
      permutation_of(work.indices, a.rows, permutation, a.rows);
      *work.template numbers<std::int64_t>(3) = zero;
      work.write(lu, 1);
      if (zero != 0) {
        fill_with_nan(x);
      } else {
        permute(work.operand(b, 1), permutation, x);
        solve_factorised(work.context, lu, x);
      }
      work.write(x, 0);
    });
  });
}

// a to its inverse, and where a pivot was zero
KernelRef prepare_inv(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  const Index size = a.rows * a.rows;
  return with_elements(step, [&]<class E>() {
    const WorkEstimate estimate{2 * E::products * cube(a.rows), a.columns, E::workspace_of(size, size), a.rows};
    return for_each_of<E>(a.count, estimate, [=](E work) {
      const auto x = work.result(0, a.rows, a.columns);
      const auto lu = work.own(a.rows, a.columns);
      work.read(a, 0, lu);
      const Index zero = factorise_lu(work.context, lu, work.indices);
      *work.template numbers<std::int64_t>(1) = zero;
      if (zero != 0) {
        fill_with_nan(x);
      } else {
        set_identity(x);
        exchange(work.indices, x);
        solve_factorised(work.context, lu, x);
      }
      work.write(x, 0);
    });
  });
}

// a to its determinant, LU, pivots, permutation
KernelRef prepare_det(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  return with_elements(step, [&]<class E>() {
    const WorkEstimate estimate{E::products * cube(a.rows), a.columns, E::workspace_of(0, a.rows * a.rows), 0};
    return for_each_of<E>(a.count, estimate, [=](E work) {
      const auto lu = work.result(1, a.rows, a.columns);
      auto* const pivots = work.template numbers<std::int64_t>(2, a.rows);
      work.read(a, 0, lu);
      factorise_lu(work.context, lu, pivots);
      permutation_of(pivots, a.rows, work.template numbers<std::int64_t>(3, a.rows), a.rows);
      work.write(lu, 1);
      work.write_number(product_of_pivots(lu, pivots), 0);
    });
  });
}

// a to its factor, and the order of the first minor that is not positive
KernelRef prepare_cholesky(const core::Step& step) {
  const Stack a = stack_of(step.inputs[0]);
  return with_elements(step, [&]<class E>() {
    const WorkEstimate estimate{E::products * cube(a.rows) / 3, a.columns, E::workspace_of(0, a.rows * a.rows), 0};
    return for_each_of<E>(a.count, estimate, [=](E work) {
      const auto factor = work.result(0, a.rows, a.columns);
      work.read(a, 0, factor);
      const Index bad = factorise_cholesky(work.context, factor);
      *work.template numbers<std::int64_t>(1) = bad;
      const auto clear_above = [](const auto& part) {
        for (Index row = 0; row < part.rows; ++row) std::fill(part.row(row) + row + 1, part.row(row) + part.columns, 0);
      };
      if (bad != 0) fill_with_nan(factor);
      else for_each_part(clear_above, factor);
      work.write(factor, 0);
    });
  });
}

// a triangle and b to x; the first switch says upper, the second that ones stand on the diagonal
KernelRef prepare_triangular_solve(const core::Step& step) {
  const Stack t = stack_of(step.inputs[0]), b = stack_of(step.inputs[1]);
  const auto& attributes = std::get<core::TriangularAttributes>(*step.attributes);
  const Triangle triangle = attributes.upper ? Triangle::upper : Triangle::lower;
  const bool unit = attributes.unit;
  return with_elements(step, [&]<class E>() {
    const WorkEstimate estimate{E::products * solution(t, b) / 2, b.columns,
                                E::workspace_of(0, t.rows * t.rows + b.rows * b.columns), 0};
    return for_each_of<E>(b.count, estimate, [=](E work) {
      const auto x = work.result(0, b.rows, b.columns);
      work.read(b, 1, x);
      solve_triangular(work.context, work.operand(t, 0), triangle, unit, x);
      work.write(x, 0);
    });
  });
}

}  // namespace tyto::cpu::linalg
