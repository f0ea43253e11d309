// SPDX-License-Identifier: MIT
// Eigenvalues and eigenvectors of general real matrices: balanced, to Hessenberg form, to real Schur form, and back.
#include <algorithm>

#include "devices/cpu/linalg/balance.hpp"
#include "devices/cpu/linalg/real_general.hpp"

namespace tyto::cpu::linalg {

namespace {

/// Rows of a triangle that are multiplied together.
constexpr Index rows_together = 96;

}  // namespace

std::int64_t real_general_workspace(std::int64_t size, bool vectors) noexcept {
  return 2 * size + (vectors ? size * size : 0) + std::max({2 * size, hessenberg_workspace(size), schur_workspace()});
}

template <class T>
bool decompose_real_general(const KernelContext<T>& context, Matrix<T> a, T* values_re, T* values_im,
                            const Parts<T>* vectors, T* workspace) noexcept {
  const Index n = a.rows;
  const Balance<T> balanced{workspace, workspace + n};
  workspace += 2 * n;
  Matrix<T> turned;
  if (vectors != nullptr) {
    turned = dense(workspace, n, n);
    workspace += n * n;
  }
  balance(BalancedElements<T, 1>(a), balanced);
  reduce_to_hessenberg(context, a, turned, workspace);
  if (!reduce_to_schur(*context.loops, a, turned, values_re, values_im, workspace)) return false;
  if (vectors == nullptr) return true;
  // Both parts of a pair are rows of one matrix until they are vectors of the form; then they go where they belong.
  const auto& [re, im] = *vectors;
  solve_for_schur_vectors(*context.loops, a, values_re, values_im, im);
  const bool turns = !is_identity(turned);
  if (turns) std::fill_n(re.first, n * n, T(0));
  else std::copy_n(im.first, n * n, re.first);
  for (Index first = 0; turns && first < n; first += rows_together) {
    const Index rows = std::min(rows_together, n - first);
    // A pair's vectors reach one element further than the diagonal.
    const Index depth = std::min(first + rows + 1, n);
    add_product<T>(context, im.part(first, 0, rows, depth), turned.part(0, 0, depth, n), re.part(first, 0, rows, n));
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
  unbalance_rows(*vectors, balanced, workspace);
  return true;
}

template bool decompose_real_general(const KernelContext<float>&, Matrix<float>, float*, float*, const Parts<float>*,
                                     float*) noexcept;
template bool decompose_real_general(const KernelContext<double>&, Matrix<double>, double*, double*,
                                     const Parts<double>*, double*) noexcept;

}  // namespace tyto::cpu::linalg
