// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/onnx.hpp>.
#pragma once

#include <tyto/onnx.hpp>

namespace context {

extern tyto::Tensor<tyto::Lazy> x;
extern tyto::OnnxModel<tyto::Tensor<tyto::Lazy>> model;
tyto::Tensor<tyto::Lazy> network(const tyto::Tensor<tyto::Lazy>& image);

}  // namespace context
