// A convolution with the attributes of a node: Conv itself, and those that quantise or fuse around it.
#pragma once

#include "onnx/operator_call.hpp"

namespace tyto::onnx {

/// Kernels (out, in, window...) that are input `i`, or made of it. When they are known they are laid out once in the
/// order in which kernels are read, (window..., in, out), and seen in the order in which they came.
Array kernels_of(const OperatorCall& call, std::size_t i, const Array& w);

/// Attributes group, strides, pads, ... of the node; `bias` may be an undefined tensor.
Array convolved(const OperatorCall& call, const Array& x, const Array& w, const Array& bias);

}  // namespace tyto::onnx
