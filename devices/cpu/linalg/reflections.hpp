// SPDX-License-Identifier: MIT
// Householder reflections, one at a time and many together: I - U T U^T.
#pragma once

#include <cstdint>

#include "devices/cpu/linalg/matrix.hpp"

namespace tyto::cpu::linalg {

/// Columns or rows that the reductions to two diagonals take at a time: what is changed late costs each of them a
/// product with all that the block has kept, so fewer than are applied together.
inline constexpr std::int64_t reduction_block = 16;

/// Turns x into a multiple of its element `head`: x - factor * v (v . x) = beta * e, where v is x scaled to have one at
/// `head`. Overwrites x by v, but for its head, which becomes beta. Returns the factor, 0 where x needs no turning.
template <class T>
T reflect(T* x, std::int64_t step, std::int64_t count, std::int64_t head) noexcept;

/// Whether one of so many factors is of a reflection; those of 0 change nothing, and are not applied.
template <class T>
bool any_turns(const T* factors, std::int64_t count) noexcept {
  bool found = false;
  for (std::int64_t i = 0; i < count; ++i) found = found || factors[i] != 0;
  return found;
}

/// Euclidean length, without overflow on the way.
template <class T>
T length_of(const T* x, std::int64_t step, std::int64_t count) noexcept;

/// Reflections multiplied together: H_0 H_1 .. = I - U T U^T, the vectors being the rows of `vectors`.
template <class T>
struct ReflectionBlock {
  Matrix<T> vectors;   ///< count x size, rows contiguous
  Matrix<T> triangle;  ///< count x count, upper

  std::int64_t count() const noexcept { return vectors.rows; }
};

/// Elements of workspace for a block's triangle and for what apply() holds in between, for matrices `width` wide.
std::int64_t block_workspace(std::int64_t width) noexcept;

/// Fills in the triangle from the vectors and factors.
template <class T>
void join(const KernelContext<T>& context, const ReflectionBlock<T>& block, const T* factors) noexcept;

/// c becomes (H_0 H_1 ..) c, or its transpose times c; `workspace` is for 2 * count * c.columns elements.
template <class T>
void apply(const KernelContext<T>& context, const ReflectionBlock<T>& block, bool transposed, Matrix<T> c,
           T* workspace) noexcept;

/// c becomes c (H_0 H_1 ..), or c times its transpose; `workspace` is for 2 * count * c.rows elements.
template <class T>
void apply_right(const KernelContext<T>& context, const ReflectionBlock<T>& block, bool transposed, Matrix<T> c,
                 T* workspace) noexcept;

}  // namespace tyto::cpu::linalg
