// The kernels that matrix products are made of.
#pragma once

#include "devices/opencl/matrix_product.hpp"

namespace tyto::opencl {

/// The widest register tile, in vectors.
inline constexpr std::int64_t most_vectors = 4;

/// Items along each side of a work-group of the GPU style.
inline constexpr std::int64_t group_side = 16;

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Multiplies by register tiles on so many items, each of which gets workspace of the plan for a panel of b.
KernelLaunch tile_kernel(const MatrixProduct& product, LaunchPlan& plan, std::int64_t items);

/// A work-group computes a square of the result from strips of a and b in local memory.
KernelLaunch group_kernel(const MatrixProduct& product);

}  // namespace tyto::opencl
