// Sums, products, extremes and their places along axes.
#pragma once

#include <optional>

#include "devices/opencl/context.hpp"
#include "devices/opencl/recipe.hpp"
#include "engine/core/device.hpp"

namespace tyto::opencl {

/// sum, prod, mean, min, max, any, all, argmin, argmax.
bool is_reduction(core::OpId op);

Recipe reduction_recipe(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
