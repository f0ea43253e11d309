// SPDX-License-Identifier: MIT
// Prepares reductions of elements that a loop computes instead of reading them from memory.
#pragma once

#include <memory>

#include "devices/cpu/loop/element_source.hpp"
#include "devices/cpu/reduce/fold_traversal.hpp"

namespace tyto::cpu {

struct Reduction {
  Fold fold;
  Finish finish;
  double operations;  ///< vector operations, roughly, for an element in cache
};

Reduction reduction_of(core::OpId op);

/// The kernel of a reduction. With a source, over neighbouring axes of a dense tensor whose elements the source
/// computes from the inputs given at launch; gives the bits that reducing the tensor itself would.
KernelRef prepare_reduction(const core::Step& step, std::shared_ptr<const ElementSource> source = nullptr,
                            const KernelChoice& choice = {});

}  // namespace tyto::cpu
