// SPDX-License-Identifier: MIT
// The inner loops of matrix products that read and write matrices where they lie.
#pragma once

#include <cstdint>
#include <type_traits>

#include "devices/cpu/arithmetic/limits.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

/// c[i][j] = sum over l of a[i][l] * b[l][j], each sum in the order of l from zero, as the register tile takes it; of
/// one row, which may be long, in parts.
///
/// Integers are unsigned, and wrap round. Strides count elements. Rows of b, c and the bias are contiguous; nothing
/// beyond their columns is read or written.
template <class T>
struct UnpackedProduct {
  std::int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  std::int64_t a_row = 0, a_column = 1;
  const T* b = nullptr;
  std::int64_t b_row = 0;
  T* c = nullptr;
  std::int64_t c_row = 0;
  const T* bias = nullptr;                                                   ///< first: n values added to each row
  bool accumulate = false;                                                   ///< then what c holds
  Limits<std::conditional_t<std::is_integral_v<T>, double, T>> limits = {};  ///< last, but not for integers
};

/// Products of one type for one instruction set.
template <class T>
struct UnpackedProducts {
  void (*multiply)(const UnpackedProduct<T>&) = nullptr;
  /// The same where columns of b are contiguous, `b_row` elements apart, and rows of a are. Of integers alone: their
  /// sums have no order.
  void (*dots)(const UnpackedProduct<T>&) = nullptr;
  int lanes = 0;  ///< elements of a vector
  /// to[j] += x * from[j] for a byte x. Of sums of 32 bits alone.
  void (*add_bytes)(std::uint32_t* to, int x, const std::int8_t* from, std::int64_t count) = nullptr;
};

/// Rows and vectors of columns whose sums are in registers together.
inline constexpr int unpacked_rows = 6, unpacked_vectors = 2;

template <class T>
UnpackedProducts<T> unpacked_products(InstructionSet set) noexcept;

TYTO_IN_EACH_SET(template <class T> UnpackedProducts<T> unpacked_products() noexcept;)

}  // namespace tyto::cpu
