// SPDX-License-Identifier: MIT
// Products with factors, for the operators that do them alone and for those that have more fused in.
#pragma once

#include "onnx/program/operator_call.hpp"

namespace tyto::onnx {

/// The first two inputs multiplied, transposed where transA and transB say so, times alpha, and beta times the third
/// one.
Array general_product(const OperatorCall& call);

}  // namespace tyto::onnx
