// Matrix products: which kernel multiplies, by type of device, element type and layout.
#pragma once

#include <memory>

#include "core/device.hpp"
#include "devices/opencl/context.hpp"
#include "devices/opencl/launch_plan.hpp"

namespace tyto::opencl {

/// Operands of a batch of products c = a b, with the batch axes merged as far as strides allow.
struct MatrixProduct {
  DType dtype = DType::f32;
  std::int64_t m = 0, n = 0, k = 0;
  core::View batch[3];  // of a, b, c; one shape, at least one axis
  std::int64_t row[3] = {};
  std::int64_t column[3] = {};
  std::int64_t offset[3] = {};
};

MatrixProduct matrix_product(const core::Step& step);

/// Our own kernels, for any strides: packed panels and register tiles on processors, local memory on GPUs.
LaunchPlan matrix_launch_plan(const Context& context, const MatrixProduct& product);

/// CLBlast, when it is built in and the operands lie as BLAS wants them; null otherwise.
std::shared_ptr<const core::Kernel> clblast_kernel(const Context& context, const MatrixProduct& product);

}  // namespace tyto::opencl
