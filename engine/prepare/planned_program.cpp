// SPDX-License-Identifier: MIT
// Lists the steps and storages of an executable and of the kernels of its regions.
#include "engine/prepare/planned_program.hpp"

#include "core/graph/op_ids.hpp"
#include "engine/regions/run/region_kernel.hpp"

namespace tyto::run {

PlannedProgram planned_program(const Executable& executable) {
  PlannedProgram program;
  program.graph = &executable.graph();
  program.storages.assign(executable.storages().begin(), executable.storages().end());
  for (const ExecutableStep& step : executable.steps()) {
    PlannedStep planned;
    planned.name = step.name;
    planned.node = step.node;
    planned.copies = step.copies;
    planned.workspace = step.workspace;
    for (std::uint32_t i = 0; i < step.input_count + step.output_count; ++i) {
      const OperandView& seen = executable.operand_views()[step.first_operand + i];
      (i < step.input_count ? planned.inputs : planned.outputs)
          .push_back({executable.operands()[step.first_operand + i], seen.view,
                      static_cast<std::int64_t>(size_of(seen.dtype))});
    }
    if (step.region != nullptr) planned.regions = std::make_shared<PlannedRegion>(step.region->planned());
    program.steps.push_back(std::move(planned));
  }
  // Constants are numbered in the order of their nodes.
  std::size_t next = 0;
  for (const std::uint32_t index : executable.order()) {
    const core::GraphNode& node = executable.graph().nodes()[index];
    if (node.op != core::OpId::constant) continue;
    const core::Array& array = executable.constants()[next++];
    program.constants.push_back({node.first_result, array.view, static_cast<std::int64_t>(size_of(array.dtype))});
  }
  return program;
}

}  // namespace tyto::run
