// SPDX-License-Identifier: MIT
// The makers of the sorting family's kernels, each in the source that holds its loops.
#pragma once

#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu {

KernelRef prepare_sort(const core::Step& step);
KernelRef prepare_argsort(const core::Step& step);
KernelRef prepare_topk(const core::Step& step);
KernelRef prepare_order_statistics(const core::Step& step);
KernelRef prepare_partition(const core::Step& step);
KernelRef prepare_argpartition(const core::Step& step);
KernelRef prepare_searchsorted(const core::Step& step);
KernelRef prepare_histogram(const core::Step& step);

}  // namespace tyto::cpu
