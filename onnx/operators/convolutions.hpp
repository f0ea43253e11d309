// SPDX-License-Identifier: MIT
// Convolution with the attributes of a node, for Conv itself and operators that quantise or fuse around it.
#pragma once

#include "onnx/program/operator_call.hpp"

namespace tyto::onnx {

/// Attributes group, strides, pads, ... of the node; `bias` may be an undefined tensor. Bytes are padded with
/// `zero_point` and converted to the type of w.
Array convolved(const OperatorCall& call, const Array& x, const Array& w, const Array& bias, double zero_point = 0);

}  // namespace tyto::onnx
