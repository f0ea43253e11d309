// SPDX-License-Identifier: MIT
// Matrix products: chooses the kernel by type of device, element type and layout.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

/// A batch of matrices in memory. Rows and columns may each run along several axes, the last one innermost: so the
/// patches of an image are a matrix without being copied.
struct ProductOperand {
  MemoryArgument::Role role = MemoryArgument::Role::input;
  std::size_t index = 0;  // which input or output
  DType dtype = DType::f32;
  std::int64_t offset = 0;  // elements
  core::View batch, rows, columns;
};

/// One number a column; of the groups of a convolution each has its own.
struct ColumnOperand {
  std::size_t input = 0;
  std::int64_t offset = 0, stride = 1, batch_stride = 0;  // elements
};

/// The epilogue of finished sums, in this order, save that the residual comes first where the inner dimension is cut,
/// and each part of a sum is scaled by itself.
struct ProductEpilogue {
  std::optional<ColumnOperand> scale;
  std::optional<ColumnOperand> bias;
  std::optional<std::size_t> residual;  // which input, laid out as c
  std::int64_t residual_offset = 0;
  double low = 0, high = 0;
  bool is_limited = false;
};

/// c = a b, where a has the rows of c and its columns are the rows of b. Only rows and columns of a, rows of b and rows
/// of c may run along several axes, those of c along as many as those of a.
struct MatrixProduct {
  std::string_view name = "matmul";  // for errors
  std::int64_t m = 0, n = 0, k = 0;
  ProductOperand a, b, c;
  std::optional<ProductEpilogue> epilogue;
};

/// The type that products of elements of a type are added up in, as it is stored between kernels.
DType accumulator_of(DType type);

/// Merges axes, and gives at least one to each view.
void simplify(MatrixProduct& product);

/// Of a step of matmul or matmul_epilogue.
MatrixProduct matrix_product(const core::Step& step);

/// The epilogue of a step's attributes, whose operands follow the two that are multiplied.
ProductEpilogue epilogue_of(const core::Step& step);

/// Whether our own kernels multiply in work-groups, else each item by register tiles.
bool multiplies_in_groups(const Context& context);

/// Appends our own kernels, for any strides: packed panels and register tiles on processors, local memory on GPUs.
void append_product(LaunchPlan& plan, const Context& context, const MatrixProduct& product);

LaunchPlan matrix_launch_plan(const Context& context, const MatrixProduct& product);

/// A kernel that calls CLBlast, when that is built in and the operands' strides are ones that BLAS takes; else null.
std::shared_ptr<const core::Kernel> clblast_kernel(const Context& context, const MatrixProduct& product);

}  // namespace tyto::opencl
