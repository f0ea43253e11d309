// Weights that stay from run to run, laid out once as the panels that register tiles read.
#pragma once

#include "core/device.hpp"
#include "devices/opencl/context.hpp"
#include "devices/opencl/launch_plan.hpp"
#include "devices/opencl/matrix_product.hpp"

namespace tyto::opencl {

/// As core::Device::packed_bytes: 0 where products read weights as well where they lie.
std::int64_t packed_bytes(const Context& context, core::OpId op, const core::ProductAttributes& product, DType dtype);

bool is_packing(core::OpId op);
LaunchPlan packing_launch_plan(const Context& context, const core::Step& step);

/// Packed weights as the second operand of a product of elements of this type.
ProductOperand packed_operand(const core::ProductAttributes& product, DType dtype);

}  // namespace tyto::opencl
