// SPDX-License-Identifier: MIT
// The makers of the sorting family's kernels, each in the source that holds its loops.
#pragma once

#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu {

std::shared_ptr<const core::Kernel> prepare_sort(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_argsort(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_topk(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_order_statistics(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_partition(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_argpartition(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_searchsorted(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_histogram(const core::Step& step);

}  // namespace tyto::cpu
