// One recorded application of an operator, from which its types and devices are read.
#pragma once

#include <optional>

#include "core/operator.hpp"

namespace tyto::docs {

/// Element types of an application's operands and results.
struct Application {
  std::vector<DType> inputs;
  std::vector<DType> outputs;
  core::Attributes attributes;
  std::vector<core::TensorType> operands, results;  // the same with their shapes
};

/// Whether samples.cpp knows how to apply the operator; internal ones (states, markers) it does not.
bool has_sample(const core::OpDef& def);

/// The operator as the public functions apply it to tensors of `type`; nothing when they refuse that type.
std::optional<Application> sample(const core::OpDef& def, DType type);

}  // namespace tyto::docs
