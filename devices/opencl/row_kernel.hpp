// The one kernel that a program over rows becomes.
#pragma once

#include "devices/opencl/context.hpp"
#include "devices/opencl/recipe.hpp"
#include "devices/opencl/row_program.hpp"

namespace tyto::opencl {

/// GPU style: a work-group a row, which keeps values in local memory. CPU style: an item takes some rows one after the
/// other, and keeps values in the workspace.
Recipe row_recipe(const Context& context, const RowProgram& program);

}  // namespace tyto::opencl
