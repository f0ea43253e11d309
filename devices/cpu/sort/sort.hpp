// SPDX-License-Identifier: MIT
// The makers of the sorting family's kernels, each in the source that holds its loops.
#pragma once

#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu {

/// Writes the order statistics at `ranks` (or the first ones) of each line to result `values`, and their positions
/// to result `indices`; -1 for a result that is not needed. Null where lines are longer than LineKeys::short_line.
KernelRef order_short_lines(const core::Step& step, std::int64_t axis, bool descending, int values, int indices,
                            IntList ranks = {});

KernelRef prepare_sort(const core::Step& step);
KernelRef prepare_argsort(const core::Step& step);
KernelRef prepare_topk(const core::Step& step);
KernelRef prepare_order_statistics(const core::Step& step);
KernelRef prepare_partition(const core::Step& step);
KernelRef prepare_argpartition(const core::Step& step);
KernelRef prepare_searchsorted(const core::Step& step);
KernelRef prepare_histogram(const core::Step& step);

}  // namespace tyto::cpu
