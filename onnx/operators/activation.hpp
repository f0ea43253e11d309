// SPDX-License-Identifier: MIT
// Activations that several operators share: as nodes of their own, inside of recurrent ones, fused into others.
#pragma once

#include "onnx/program/operator_call.hpp"

namespace tyto::onnx {

/// alpha x + beta, limited to [0, 1].
Array hard_sigmoid(const Array& x, double alpha, double beta);
/// x above alpha, else 0.
Array thresholded_relu(const Array& x, double alpha);
/// GELU with its distribution function approximated by a tanh.
Array gelu_by_tanh(const Array& x);

}  // namespace tyto::onnx
