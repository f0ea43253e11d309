// SPDX-License-Identifier: MIT
// Writes the kernels of matrix products.
#pragma once

#include "devices/opencl/products/matrix_product.hpp"

namespace tyto::opencl {

/// Items of a work-group of the GPU style.
inline constexpr std::int64_t group_items = 256;

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Multiplies by register tiles on so many items, each of which gets workspace of the plan for a panel of b.
KernelLaunch tile_kernel(const MatrixProduct& product, LaunchPlan& plan, std::int64_t items);

/// Multiplies in work-groups, which compute tiles of the result from strips of a and b in local memory. Where tiles are
/// few, the depth is cut, and a second kernel adds the parts up from workspace of the plan.
void append_group_kernels(LaunchPlan& plan, const Context& context, const MatrixProduct& product);

}  // namespace tyto::opencl
