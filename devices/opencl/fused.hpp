// Fused groups, and operators that are computed as one would be, each as one kernel.
#pragma once

#include "core/device.hpp"
#include "devices/opencl/context.hpp"
#include "devices/opencl/recipe.hpp"

namespace tyto::opencl {

/// var, logsumexp, softmax, log_softmax: their steps are a program over rows.
bool is_row_operator(core::OpId op);

/// Of `fused` or of a row operator. Elements alone, elements that a reduction takes, or rows.
Recipe fused_recipe(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
