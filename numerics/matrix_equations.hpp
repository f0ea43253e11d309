// SPDX-License-Identifier: MIT
// Linear matrix equations as operators with gradients, for the functions that solve or differentiate by them.
#pragma once

#include <string_view>

#include "numerics/matrix_operator.hpp"

namespace tyto::core {

/// x with a x + x b = c; NaN where there is none. Operands are alike.
AnyTensor continuous_equation(std::string_view function, const AnyTensor& a, const AnyTensor& b, const AnyTensor& c);
/// x with x - a x b = c, in the same way.
AnyTensor discrete_equation(std::string_view function, const AnyTensor& a, const AnyTensor& b, const AnyTensor& c);

}  // namespace tyto::core
