// SPDX-License-Identifier: MIT
// Rules of reductions around their inner loops: how partial results begin, join, and become elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cpu/reduce/fold.hpp"

namespace tyto::cpu {

/// How a finished partial result becomes the result.
enum class Finish : std::uint8_t { value, mean, variance, logarithm, index };

/// The extent of the whole reduction, for Finish.
struct FoldExtent {
  std::int64_t count = 0;  ///< elements folded into each result
  std::int64_t ddof = 0;
};

struct FoldRules {
  std::size_t first_size = 0;   ///< bytes of the components of a partial result
  std::size_t second_size = 0;  ///< 0 when there is only one
  bool short_circuits = false;  ///< a partial result (one byte) that is not zero tells what the whole one will be
  void (*start)(void* first, void* second, std::int64_t width) = nullptr;
  /// Joins `other_count` elements' partial results to those of `count` elements that come before them.
  void (*join)(void* first, void* second, std::int64_t count, const void* other_first, const void* other_second,
               std::int64_t other_count, std::int64_t width) = nullptr;
  void (*finish)(const void* first, const void* second, std::int64_t width, FoldExtent extent, void* out,
                 std::int64_t stride) = nullptr;
};

FoldRules fold_rules(Fold fold, Finish finish, DType in, DType out);

}  // namespace tyto::cpu
