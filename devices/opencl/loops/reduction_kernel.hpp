// SPDX-License-Identifier: MIT
// Writes the kernels of reductions.
#pragma once

#include <vector>

#include "core/device/device.hpp"
#include "devices/opencl/loops/named_loop.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

/// Memory and the type of what lies there.
struct MemoryOperand {
  MemoryArgument::Role role = MemoryArgument::Role::input;
  DType dtype = DType::f32;
  std::int64_t offset = 0;  // elements
};

/// Memory that elements are read from or computed from.
struct ReductionSource {
  MemoryOperand memory;
  core::View kept, reduced;
};

/// results[k] = combination over r of the element at kept(k) + reduced(r); all views have at least one axis.
struct Reduction {
  core::OpId op;
  std::vector<ReductionSource> sources;  // one, or the inputs of `elements`
  const NamedLoop* elements = nullptr;   // computes the elements, its only result, where there are several
  MemoryOperand target;
  DType accumulator = DType::f32;
  core::View kept, reduced;  // of the elements in memory, or as they would lie there
  core::View written;        // of the target: the shape of `kept`
  double count = 1;          // a mean divides by it
  bool finishes = true;      // false: the accumulator itself is stored
};

/// Results whose elements are neighbours are better computed side by side than one after the other.
inline bool columns_lie_closer(const Reduction& reduction) {
  const auto inner = [](const core::View& view) { return view.strides[view.strides.size() - 1]; };
  const Shape& results = reduction.kept.shape;
  return inner(reduction.kept) == 1 && inner(reduction.reduced) != 1 && results[results.size() - 1] > 1;
}

/// Results from which each has an item of its own, where columns lie closer.
inline constexpr std::int64_t enough_items = 4096;

/// Neighbouring results that a work-group computes side by side, where there are fewer.
std::int64_t block_width(const Context& context, const Reduction& reduction);

/// Each result in `parts` pieces, which lie side by side in the target when there are several.
KernelLaunch reduction_kernel(const Context& context, const Reduction& reduction, std::int64_t parts);

/// Position of the first extreme element along the one reduced axis.
KernelLaunch arg_reduction_kernel(const Context& context, const Reduction& reduction);

}  // namespace tyto::opencl
