// The value that an element of some type stores for a scalar: defined once for kernels, passes and generated code.
#pragma once

#include "tyto/dtype.hpp"
#include "tyto/scalar.hpp"

namespace tyto::core {

/// The number as an element of `dtype` holds it, and as casts make it: integers wrap round in narrower types, floating
/// ones stop at the end of a whole type's range, NaN gives 0 there; 16-bit types round once.
Scalar as_stored(const Scalar& number, DType dtype);

}  // namespace tyto::core
