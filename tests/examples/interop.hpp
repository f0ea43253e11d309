// SPDX-License-Identifier: MIT
// Definitions for the examples of the interop headers.
#pragma once

#include <Eigen/Dense>
#include <tyto/interop/eigen.hpp>
#include <tyto/tyto.hpp>

namespace context {

using Tensor = tyto::Tensor<tyto::Lazy>;
inline const Tensor x = Tensor::ones({3, 3}, tyto::DType::f64), b = x, image = x;
inline const Eigen::MatrixXd m = Eigen::MatrixXd::Identity(3, 3);
inline const Eigen::SparseMatrix<double> a = m.sparseView();

}  // namespace context
