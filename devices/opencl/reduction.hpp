// Sums, products, extremes and their places along axes.
#pragma once

#include <optional>

#include "core/device.hpp"
#include "devices/opencl/context.hpp"
#include "devices/opencl/element_program.hpp"
#include "devices/opencl/recipe.hpp"

namespace tyto::opencl {

/// sum, prod, mean, min, max, any, all, argmin, argmax.
bool is_reduction(core::OpId op);

Recipe reduction_recipe(const Context& context, const core::Step& step);

/// A reduction whose elements are computed where it reads them.
struct ComputedReduction {
  core::OpId op;            // sum, prod, mean, min or max
  ElementProgram elements;  // inputs broadcast to `shape`; stores the one value that is reduced
  DType dtype;              // of that value
  Shape shape;
  IntList axes;
  core::Operand output;  // with ones for the axes
};

Recipe computed_reduction_recipe(const Context& context, const ComputedReduction& reduction);

/// A variance as a mean and a reduction of squares, which suits columns and few long rows; nothing for what is better
/// taken row by row.
std::optional<Recipe> variance_by_reductions(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
