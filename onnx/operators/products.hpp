// SPDX-License-Identifier: MIT
// Products with a factor, for the operators that do them alone and for those that have more fused in.
#pragma once

#include "onnx/program/operator_call.hpp"

namespace tyto::onnx {

/// The first two inputs, transposed where transA and transB say so, and times alpha.
Array scaled_product(const OperatorCall& call);
/// The same with beta times the third input added.
Array general_product(const OperatorCall& call);

}  // namespace tyto::onnx
