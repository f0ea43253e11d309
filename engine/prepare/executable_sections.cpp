// SPDX-License-Identifier: MIT
// Chooses sections of steps that run at the same time, and keeps what one of them uses for the whole section.
#include <algorithm>
#include <optional>

#include "core/graph/op_ids.hpp"
#include "engine/prepare/executable_builder.hpp"
#include "engine/prepare/parallel_sections.hpp"
#include "optimiser/recompute/rewrite.hpp"

namespace tyto::run {

namespace {

bool is_product(core::OpId op) {
  using core::OpId;
  return op == OpId::matmul || op == OpId::matmul_epilogue || op == OpId::convolution ||
         op == OpId::convolution_epilogue || op == OpId::convolution_input_gradient ||
         op == OpId::convolution_kernel_gradient;
}

/// Operations of the node; nothing where they are not known: what takes long is not to be taken for something short.
std::optional<double> operations_of(const core::Graph& graph, const core::GraphNode& node) {
  using core::OpId;
  if (is_product(node.op)) return recompute::flops(graph, node);
  double elements = static_cast<double>(element_count(graph.type(node.first_result).shape));
  for (const core::Port input : graph.inputs_of(node)) {
    elements = std::max(elements, static_cast<double>(element_count(graph.type(input).shape)));
  }
  const core::OpDef& def = core::definition(node.op);
  if (def.is(core::Traits::elementwise) || def.is(core::Traits::reduction)) return elements;
  if (node.op == OpId::copy || node.op == OpId::cast || node.op == OpId::concat) return elements;
  if (node.op == OpId::fused) {
    const auto& loop = std::get<core::LoopAttributes>(graph.attributes(node));
    return elements * static_cast<double>(loop.program.instructions.size());
  }
  if (node.op == OpId::max_pool || node.op == OpId::average_pool) {
    double taps = 1;
    for (const std::int64_t side : std::get<core::WindowAttributes>(graph.attributes(node)).window) {
      taps *= static_cast<double>(side);
    }
    return elements * taps;
  }
  return {};
}

}  // namespace

// Regions have one timeline with the steps around them, and a limit of memory leaves nothing for lanes.
std::size_t ExecutableBuilder::most_lanes() const {
  if (options_.concurrency < 2 || split_ || options_.memory_limit != 0) return 1;
  return static_cast<std::size_t>(std::min(options_.concurrency, device_.lanes()));
}

void ExecutableBuilder::choose_sections() {
  lane_of_.assign(target_.steps_.size(), none);
  if (most_lanes() < 2 || std::ranges::any_of(graph_.nodes(), holds_regions, &core::GraphNode::op)) return;
  const core::DeviceProperties& machine = device_.properties();
  std::vector<SectionStep> steps;
  for (const ExecutableStep& step : target_.steps_) {
    const core::GraphNode& node = graph_.nodes()[step.node];
    SectionStep& made = steps.emplace_back();
    const std::optional<double> operations = step.copies ? 0.0 : operations_of(graph_, node);
    made.needs_order = !operations || core::calls_user_function(node) || core::has_effect(node);
    double bytes = 0;
    for (std::uint32_t i = 0; i < step.input_count + step.output_count; ++i) {
      const OperandView& seen = target_.operand_views_[step.first_operand + i];
      const std::size_t element = size_of(seen.dtype);
      bytes += static_cast<double>(seen.view.count()) * static_cast<double>(element);
      made.uses.push_back({target_.operands_[step.first_operand + i], seen.view, element, i >= step.input_count});
    }
    const double rate = is_product(node.op) ? machine.product_operations : machine.other_operations;
    made.alone = std::max(operations.value_or(0) / rate, bytes / machine.bytes_moved);
    made.together = std::min(made.alone, made.alone / device_.lanes() + machine.nanoseconds_to_meet);
  }
  target_.sections_ = parallel_sections(steps, most_lanes(), machine.nanoseconds_to_meet);
  std::uint32_t lanes = 0;
  for (const ParallelSection& section : target_.sections_) {
    for (const std::vector<std::uint32_t>& lane : section.lanes) {
      for (const std::uint32_t step : lane) lane_of_[step] = lanes;
      ++lanes;
    }
  }
  for (UnpreparedStep& step : unprepared_[false]) step.beside_others = lane_of_[step.step] != none;
}

// Steps of a section run in any order: what one of them uses is there from its beginning to its end.
void ExecutableBuilder::extend_lifetimes() {
  if (target_.sections_.empty()) return;
  const auto steps = static_cast<std::uint32_t>(target_.steps_.size());
  std::vector<const ParallelSection*> section_of(steps + 1, nullptr);
  for (const ParallelSection& section : target_.sections_) {
    std::fill(section_of.begin() + section.first, section_of.begin() + section.end, &section);
  }
  for (Storage& storage : target_.storages_) {
    const ParallelSection* const first = section_of[std::min(storage.first_instruction, steps)];
    const ParallelSection* const last = section_of[std::min(storage.last_step, steps)];
    if (first != nullptr) storage.first_instruction = first->first;
    if (last != nullptr) storage.last_step = last->end - 1;
  }
}

}  // namespace tyto::run
