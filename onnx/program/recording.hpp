// SPDX-License-Identifier: MIT
// Records a whole program as one graph although shapes in it depend on elements: for the shapes that certain values
// give.
#pragma once

#include <memory>

#include "onnx/program/program.hpp"

namespace tyto::onnx {

/// The model that a program is of.
struct RecordedModel {
  Limits& limits;
  const std::string& file;
  std::shared_ptr<const void> owner;  // keeps all three alive
};

/// Runs all steps on `recorded`, in lazy mode. A step that must see elements becomes an operator of its own, which runs
/// the step when the graph runs and throws GraphError where its results have other shapes than they have with `values`,
/// which hold the same in eager mode.
void record_for_values(const Program& program, Slots& recorded, Slots values, const RecordedModel& model);

}  // namespace tyto::onnx
