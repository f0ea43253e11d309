// Groups that go on after a reduction: a block of rows at a time through all their stages, while it lies in the cache.
#pragma once

#include <memory>

#include "core/device.hpp"

namespace tyto::cpu {

/// The kernel of a `fused` step whose reductions over the last axes are read by other steps, or are several. Gives the
/// bits of the operators one by one for rows of 16 elements or more; shorter ones those add in another order.
std::shared_ptr<const core::Kernel> prepare_rows(const core::Step& step);

}  // namespace tyto::cpu
