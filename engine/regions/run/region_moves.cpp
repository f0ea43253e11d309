// SPDX-License-Identifier: MIT
// Lists copies that steps without a node make, and those of the kernels of regions.
#include "engine/regions/run/region_moves.hpp"

#include <utility>

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/regions/run/region_kernel.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::run {

namespace {

std::string name_of_region(const Executable& executable, const ExecutableStep& step, const std::string& path) {
  std::string name = path.empty() ? std::string() : path + "/";
  if (const auto& label = executable.graph().nodes()[step.node].label) name += *label + "/";
  return name + step.name;
}

std::string why_copied(const core::Graph& graph, core::Port port) {
  port = optimiser::whole_behind(graph, port);
  const core::GraphNode& node = graph.nodes()[graph.producer(port)];
  if (node.op == core::OpId::constant) return "it is a constant";
  if (node.op == core::OpId::read && node.input_count == 0) return "it is a value that the region is given";
  if (core::definition(node.op).is(core::Traits::view)) return "it is a view";
  return "its value has another place, too";
}

}  // namespace

void list_moves(const Executable& executable, const std::string& path, const SharesAddress& over,
                std::vector<MovedBytes>& moved) {
  const auto operands_of = [&](const ExecutableStep& step) {
    return executable.operands().subspan(step.first_operand, step.input_count + step.output_count);
  };
  std::vector<const ExecutableStep*> copies;  // of operands of the region that comes next
  for (const ExecutableStep& step : executable.steps()) {
    if (step.copies) {
      copies.push_back(&step);
      continue;
    }
    const RegionKernel* kernel = step.region.get();
    const std::vector<const ExecutableStep*> before = std::exchange(copies, {});
    if (kernel == nullptr) continue;
    const std::string name = name_of_region(executable, step, path);
    const std::span<const std::uint32_t> operands = operands_of(step);
    for (std::uint32_t i = 0; i < step.input_count; ++i) {
      for (const ExecutableStep* copy : before) {
        if (copy->node != step.node || operands_of(*copy).back() != operands[i]) continue;
        moved.push_back(
            {name, core::text("operand ", i), "it is a view with gaps", 0, executable.storages()[operands[i]].bytes});
      }
    }
    const std::span<const std::size_t> shifts = executable.shifts().subspan(step.first_operand, operands.size());
    kernel->list_moves(
        name,
        [&](std::size_t result, std::size_t operand) {
          const std::size_t own = step.input_count + result;
          const Storage& to = executable.storages()[operands[own]];
          const Storage& from = executable.storages()[operands[operand]];
          const bool bound = to.kind == StorageKind::output && from.kind == StorageKind::input;
          return shifts[own] == shifts[operand] &&
                 (operands[own] == operands[operand] || (bound && over(to.index, from.index)));
        },
        moved);
  }
}

bool passes_on(const Executable& plan, const ExecutableStep& step) {
  if (step.input_count != 1 || step.output_count != 1) return false;
  const Storage& from = plan.storages()[plan.operands()[step.first_operand]];
  const Storage& to = plan.storages()[plan.operands()[step.first_operand + 1]];
  return from.kind == StorageKind::input && to.kind == StorageKind::output &&
         plan.graph().outputs()[to.index] == plan.graph().inputs()[from.index].port;
}

std::vector<CopiedOutput> copied_outputs(const Executable& executable) {
  std::vector<CopiedOutput> copied;
  for (const ExecutableStep& step : executable.steps()) {
    if (!step.copies) continue;
    const Storage& to = executable.storages()[executable.operands()[step.first_operand + step.input_count]];
    if (to.kind != StorageKind::output) continue;
    copied.push_back({&step, to.index, to.bytes, passes_on(executable, step),
                      why_copied(executable.graph(), executable.graph().outputs()[to.index])});
  }
  return copied;
}

}  // namespace tyto::run
