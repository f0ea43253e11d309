// The kernels that matrix products are made of.
#pragma once

#include "devices/opencl/matrix_product.hpp"

namespace tyto::opencl {

/// The widest register tile, in vectors.
inline constexpr std::int64_t most_vectors = 4;

/// Items along each side of a work-group of the GPU style.
inline constexpr std::int64_t group_side = 16;

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Copies b to the workspace at `packed` bytes, in panels of `width` columns: [panel][depth][column], with zeros beyond
/// the last column.
KernelLaunch pack_kernel(const MatrixProduct& product, std::int64_t width, std::size_t packed, std::int64_t items);

/// Multiplies with such panels, `vectors` of so many lanes wide, a register tile at a time.
KernelLaunch tile_kernel(const MatrixProduct& product, std::int64_t lanes, std::int64_t vectors, std::size_t packed,
                         std::int64_t items);

/// A work-group computes a square of the result from strips of a and b in local memory.
KernelLaunch group_kernel(const MatrixProduct& product);

}  // namespace tyto::opencl
