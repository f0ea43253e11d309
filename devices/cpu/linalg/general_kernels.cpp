// SPDX-License-Identifier: MIT
// The kernels of eigenvalues of general matrices, whose operands are complex numbers side by side.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/linalg/complex_matrix_kernel.hpp"
#include "devices/cpu/linalg/linalg_kernels.hpp"

namespace tyto::cpu::linalg {

namespace {

template <class T>
KernelRef prepare_parts(const core::Step& step) {
  const Stack stack = stack_of(step.inputs[0]);
  if (no_matrices(stack) || stack.rows == 0) return no_work();
  const std::int64_t n = stack.rows;
  const bool vectors = step.op == core::OpId::eig;
  const double cube = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  const WorkEstimate estimate{
      (vectors ? 200 : 80) * cube, n,
      (vectors ? 4 : 2) * n * n + 2 * n + std::max(general_workspace(n, vectors), real_general_workspace(n, vectors)),
      0};
  return for_each_matrix<T>(
      stack.count, estimate,
      [=](Addresses inputs, Addresses outputs, std::int64_t index, const ThreadWorkspace<T>& mine) {
        T* workspace = mine.workspace;
        const auto matrix = [&] {
          const Matrix<T> made = dense(workspace, n, n);
          workspace += n * n;
          return made;
        };
        const Parts<T> a{matrix(), matrix()};
        read_parts(stack, inputs[0], index, a);
        const std::optional<int> scaled = exponent_of(a);
        const bool real = std::all_of(a.im.first, a.im.first + n * n, [](T element) { return element == 0; });
        const int exponent = scaled.value_or(0);
        scale_by(a, -exponent);
        Parts<T> v;
        if (vectors) v = {matrix(), matrix()};
        T* const values_re = workspace;
        T* const values_im = workspace + n;
        const Parts<T>* const wanted = vectors ? &v : nullptr;
        const bool found =
            scaled &&
            (real ? decompose_real_general<T>(mine.context, a.re, values_re, values_im, wanted, workspace + 2 * n)
                  : decompose_general<T>(mine.context, a, values_re, values_im, wanted, workspace + 2 * n));
        constexpr T nan = std::numeric_limits<T>::quiet_NaN();
        T* const values = reinterpret_cast<T*>(outputs[0].pointer()) + 2 * index * n;
        for (std::int64_t i = 0; i < n; ++i) {
          values[2 * i] = found ? std::ldexp(values_re[i], exponent) : nan;
          values[2 * i + 1] = found ? std::ldexp(values_im[i], exponent) : nan;
        }
        if (!vectors) return;
        T* const to = reinterpret_cast<T*>(outputs[1].pointer()) + 2 * index * n * n;
        // A few rows at a time, so that each line of memory is read once and written while it is near.
        constexpr std::int64_t rows_together = 16;
        for (std::int64_t first = 0; first < n; first += rows_together) {
          const std::int64_t end = std::min(first + rows_together, n);
          for (std::int64_t column = 0; column < n; ++column) {
            for (std::int64_t row = first; row < end; ++row) {
              to[2 * (row * n + column)] = found ? v.re(column, row) : nan;
              to[2 * (row * n + column) + 1] = found ? v.im(column, row) : nan;
            }
          }
        }
      });
}

}  // namespace

KernelRef prepare_eig(const core::Step& step) {
  return with_parts(step, [&]<class T>(std::type_identity<T>) { return prepare_parts<T>(step); });
}

}  // namespace tyto::cpu::linalg
