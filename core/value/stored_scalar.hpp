// SPDX-License-Identifier: MIT
// The value that an element of some type stores for a scalar: defined once for kernels, passes and generated code.
#pragma once

#include <string>

#include "tyto/dtype.hpp"
#include "tyto/scalar.hpp"

namespace tyto::core {

/// The number as an element of `dtype` holds it, and as casts make it: integers wrap round in narrower types, floating
/// ones stop at the end of a whole type's range, NaN gives 0 there; 16-bit types round once; of a complex number types
/// that are not complex hold the real part.
Scalar as_stored(const Scalar& number, DType dtype);

/// "2", "0.5", "(1+2j)": the digits that tell it from others.
std::string to_string(const Scalar& number);

}  // namespace tyto::core
