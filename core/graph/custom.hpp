// SPDX-License-Identifier: MIT
// A function given by the user, wrapped as an operator: delay, custom gradients, raw device kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/symbol.hpp"

namespace tyto::core {

/// Host memory of one operand, dense and row-major.
struct HostBuffer {
  DType dtype;
  Shape shape;
  void* data;
};

/// A kernel in OpenCL C and its launch for operands of known shapes. Its arguments are the inputs, the results, the
/// numbers.
struct DeviceSource {
  std::string text;  // empty: there is none
  std::string kernel;
  std::array<std::size_t, 3> global_size = {1, 1, 1};
  std::array<std::size_t, 3> local_size = {0, 0, 0};  // zeros: the driver's choice
  std::vector<std::int64_t> scalar_arguments;
};

class CustomOperator {
 public:
  std::string name;
  std::vector<TensorType> results;
  DeviceSource opencl;
  /// Computes on the host: dense inputs, dense outputs to be filled. Empty where only devices compute it.
  std::function<void(std::span<const HostBuffer> inputs, std::span<const HostBuffer> outputs)> host;
  /// Gradients with respect to the inputs; empty when the operator has none.
  std::function<std::vector<Value>(std::span<const Value> inputs, std::span<const Value> results,
                                   std::span<const Value> gradients)>
      gradient;
};

}  // namespace tyto::core
