// A function given by the user, wrapped as an operator: delay, custom gradients, raw device kernels.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/symbol.hpp"

namespace tyto::core {

/// Host memory of one operand, dense and row-major.
struct HostArray {
  DType dtype;
  Shape shape;
  void* data;
};

class CustomOperator {
 public:
  std::string name;
  std::vector<TensorType> results;
  /// Computes on the host: dense inputs, dense outputs to be filled.
  std::function<void(std::span<const HostArray> inputs, std::span<const HostArray> outputs)> host;
  /// Gradients with respect to the inputs; empty when the operator has none.
  std::function<std::vector<Value>(std::span<const Value> inputs, std::span<const Value> results,
                                   std::span<const Value> gradients)>
      gradient;
};

}  // namespace tyto::core
