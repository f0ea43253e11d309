// SPDX-License-Identifier: MIT
// The axes of a reduction, sorted into those kept and those folded, each list as few axes as strides allow.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/device.hpp"
#include "devices/cpu/moves/strided_iterator.hpp"

namespace tyto::cpu {

/// One axis, with the strides that it is traversed by in the input and in the result.
struct Axis {
  std::int64_t length;
  std::int64_t in;
  std::int64_t out;
};

/// The input's axes as they are traversed, outermost first.
struct SortedAxes {
  std::vector<Axis> kept;
  std::vector<Axis> folded;
  std::int64_t in = 0;  ///< offsets of the first element
  std::int64_t out = 0;
};

/// The axes of a step. `ordered`: the folded elements are met in the order of their indices.
SortedAxes sorted_axes(const core::Step& step, bool ordered);

/// An iterator along axes from these offsets: of the input first, then of the result.
StridedIterator<2> iterator_over(const std::vector<Axis>& axes, std::int64_t in, std::int64_t out);

}  // namespace tyto::cpu
