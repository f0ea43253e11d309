// SPDX-License-Identifier: MIT
// Weights that fade a signal out towards its ends: the window functions of NumPy, symmetric.
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// A triangle: `bartlett<Tensor>(5)` is 0, 0.5, 1, 0.5, 0.
template <class T>
T bartlett(std::int64_t count, DType dtype = DType::f32);
/// A raised cosine.
template <class T>
T hanning(std::int64_t count, DType dtype = DType::f32);
/// A raised cosine on a step.
template <class T>
T hamming(std::int64_t count, DType dtype = DType::f32);
/// Three cosines.
template <class T>
T blackman(std::int64_t count, DType dtype = DType::f32);
/// A Bessel function of which `beta` says how fast it falls.
template <class T>
T kaiser(std::int64_t count, double beta, DType dtype = DType::f32);

}  // namespace TYTO_API
