// SPDX-License-Identifier: MIT
// The OpenCL C functions that the expressions of the operator table are written in.
#pragma once

#include <string>
#include <string_view>

#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/text/element_types.hpp"

namespace tyto::opencl {

/// An expression of the operator table for one compute type: function names get the type's suffix, constants its form.
std::string specialise(std::string_view expression, Compute type);

/// Definitions of all functions that `kernels` call, to stand before them.
std::string mathematics_for(const std::string& kernels, const Context& context);

}  // namespace tyto::opencl
