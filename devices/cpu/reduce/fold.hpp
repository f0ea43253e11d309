// SPDX-License-Identifier: MIT
// The inner loops that reductions are made of: they fold elements of one type into partial results.
#pragma once

#include <cstdint>

#include <tyto/dtype.hpp>

#include "devices/cpu/system/each_set.hpp"

namespace tyto::cpu {

/// The kinds of folds. A partial result has one or two components:
///   sum, product   double for floating-point types, 64-bit integer for the others
///   minimum, maximum   an element (float for the 16-bit formats)
///   any, all       a byte: whether a true (for `all`: a false) was seen
///   moments        mean and sum of squared deviations from it, both double
///   exponentials   the largest element and the sum of exp(x - reference), both double (the reference is
///                  the largest element where that is finite; elsewhere it alone is the result)
///   first_minimum, first_maximum   the extreme element and the 64-bit index of its first occurrence, -1 for none
enum class Fold : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  any,
  all,
  moments,
  exponentials,
  first_minimum,
  first_maximum
};

/// Most columns that FoldLoops::columns takes at once.
inline constexpr std::int64_t fold_columns = 1024;

/// Inner loops for one fold and element type. `before` is the number of elements that the partial results stand for
/// already (moments), or the index of the first element given (first_minimum, first_maximum).
struct FoldLoops {
  /// Folds `count` elements, `stride` apart, into one partial result.
  void (*line)(const void* x, std::int64_t count, std::int64_t stride, void* first, void* second,
               std::int64_t before) = nullptr;
  /// Folds `count` rows, `step` apart, of `width` elements into `width` partial results.
  void (*columns)(const void* x, std::int64_t count, std::int64_t step, std::int64_t width, void* first, void* second,
                  std::int64_t before) = nullptr;
  /// The most columns whose results stay in registers where rows follow one another, the same for all instruction sets;
  /// 0 where none do.
  std::int64_t register_width = 0;
};

// One definition an instruction set; null loops where a fold does not take the type.
TYTO_IN_EACH_SET(FoldLoops sum_loops(Fold fold, DType dtype); FoldLoops extreme_loops(Fold fold, DType dtype);
                 FoldLoops moment_loops(Fold fold, DType dtype);)

FoldLoops sum_loops(InstructionSet set, Fold fold, DType dtype);
FoldLoops extreme_loops(InstructionSet set, Fold fold, DType dtype);
FoldLoops moment_loops(InstructionSet set, Fold fold, DType dtype);

/// The loops for the instruction set in use.
FoldLoops fold_loops(Fold fold, DType dtype);

}  // namespace tyto::cpu
