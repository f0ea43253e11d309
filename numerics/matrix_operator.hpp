// SPDX-License-Identifier: MIT
// The one adapter between kernels of single matrices and tensors: an operator on stacks of them, in both modes.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "numerics/eigen/kernels.hpp"
#include "ops/linalg.hpp"
#include "tyto/custom.hpp"

namespace tyto::core {

/// An operator whose operands are stacks of matrices of one element type and one shape of stack. Kernels compute in f64
/// and c128; each matrix is handed to them as a copy by columns.
struct MatrixOperator {
  const char* name;
  std::size_t inputs;
  eigen_kernels::Kernels (*kernels)();
  std::size_t like;                                 ///< which input the results are shaped as
  std::size_t results;                              ///< how many such results there are
  bool and_row = false;                             ///< whether one more follows, a row of as many columns
  decltype(CustomOptions::gradient) gradient = {};  ///< as for custom_op()
};

CustomOp custom_op(const MatrixOperator& description);

/// The results of an operator. Throws DeviceError naming `function` where the build has no Eigen.
std::vector<AnyTensor> apply(const CustomOp& op, std::string_view function, const std::vector<AnyTensor>& operands);

/// The operands as matrices of one element type in stacks of one shape.
std::vector<AnyTensor> alike(std::string_view function, const std::vector<Value>& operands);

/// Eager mode: throws ValueError with that reason where the result for matrices of finite elements is NaN. In a graph
/// it stays NaN.
void refuse_nan(std::string_view function, const std::vector<AnyTensor>& operands, const AnyTensor& result,
                std::string_view reason);

}  // namespace tyto::core
