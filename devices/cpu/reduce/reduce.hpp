// SPDX-License-Identifier: MIT
// Prepares reductions of elements that a loop computes instead of reading them from memory.
#pragma once

#include <memory>

#include "core/device/device.hpp"
#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/element_source.hpp"
#include "devices/cpu/reduce/fold_rules.hpp"

namespace tyto::cpu {

struct Reduction {
  Fold fold;
  Finish finish;
  double nanoseconds;  ///< rough cost of an element that comes from cache
};

Reduction reduction_of(core::OpId op);

/// Lines shorter than this cost more to begin than to fold.
inline constexpr std::int64_t shortest_line = 32;

/// Whether short lines are folded as columns, many at a time, even where that makes elements lie apart. The order of
/// additions depends on it.
constexpr bool taken_as_columns(std::int64_t length, std::int64_t lines) {
  return length < shortest_line && lines > 4 * length;
}

/// The kernel of a reduction. With a source, over neighbouring axes of a dense tensor whose elements the source
/// computes from the inputs given at launch; gives the bits that reducing the tensor itself would.
KernelRef prepare_reduction(const core::Step& step, std::shared_ptr<const ElementSource> source = nullptr,
                            const KernelChoice& choice = {});

}  // namespace tyto::cpu
