// SPDX-License-Identifier: MIT
// Complex tensors and their parts; element-wise functions of them stand with those of real ones.
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// re + i im, element by element with broadcasting: c128 of f64, else c64.
template <class M>
Tensor<M> complex(const Tensor<M>& re, const std::type_identity_t<Tensor<M>>& im);
/// The complex numbers of these absolute values and angles.
template <class M>
Tensor<M> polar(const Tensor<M>& size, const std::type_identity_t<Tensor<M>>& angle);

/// The real parts, a view; of a real tensor itself.
template <class M>
Tensor<M> real(const Tensor<M>& x);
/// The imaginary parts, a view; of a real tensor zeros.
template <class M>
Tensor<M> imag(const Tensor<M>& x);
/// The angle between each number and the positive real axis, in (-pi, pi].
template <class M>
Tensor<M> angle(const Tensor<M>& x);

/// Complex numbers as pairs of real ones along one axis more at the end: a view.
template <class M>
Tensor<M> view_as_real(const Tensor<M>& x);
/// Pairs along the last axis, which has length 2, as complex numbers: a view where both parts are adjacent.
template <class M>
Tensor<M> view_as_complex(const Tensor<M>& x);

}  // namespace TYTO_API
