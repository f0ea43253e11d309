// SPDX-License-Identifier: MIT
// One recorded application of an operator to its sample operands, from which pages and tests read types and devices.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/operator.hpp"

namespace tyto::core {

struct Application {
  Attributes attributes;
  std::vector<TensorType> operands;
  std::vector<TensorType> results;
};

/// Whether public functions apply the operator to tensors: not to leaves, markers and what the user defines.
bool has_sample(const OpDef& def);

/// The operator as the public functions apply it to tensors of `type`; nothing where they refuse that type.
std::optional<Application> application(const OpDef& def, DType type);

}  // namespace tyto::core
