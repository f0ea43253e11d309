// Names of operators for errors and kernels, read from the operator lists themselves.
#pragma once

#include <string_view>

#include "engine/core/operator.hpp"

namespace tyto::opencl {

/// The operator's name as the table has it.
std::string_view name_of(core::OpId op);

}  // namespace tyto::opencl
