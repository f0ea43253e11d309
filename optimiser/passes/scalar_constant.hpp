// SPDX-License-Identifier: MIT
// Scalar constants: tensors all of whose elements are one number that is known before anything runs.
#pragma once

#include <optional>

#include "optimiser/passes/graph_editor.hpp"

namespace tyto::optimiser {

/// The one number that all elements of a tensor are, when that is known.
std::optional<Scalar> scalar_of(GraphEditor& editor, core::Port port);

/// Whether results of this operator can be such a number.
bool may_be_scalar(core::OpId op);

}  // namespace tyto::optimiser
