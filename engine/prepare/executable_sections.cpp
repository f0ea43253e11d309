// SPDX-License-Identifier: MIT
// Which steps run at the same time, and what that means for the memory that they use.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "engine/prepare/executable_builder.hpp"
#include "engine/prepare/parallel_sections.hpp"
#include "optimiser/recompute/rewrite.hpp"

namespace tyto::run {

namespace {

/// What handing a step to all threads takes, in nanoseconds.
constexpr double nanoseconds_to_hand_out = 10'000;
/// How much longer an operation takes outside of products, where it has operands of its own.
constexpr double element_operations = 16;

bool is_product(core::OpId op) {
  using core::OpId;
  return op == OpId::matmul || op == OpId::matmul_epilogue || op == OpId::convolution ||
         op == OpId::convolution_epilogue || op == OpId::convolution_input_gradient ||
         op == OpId::convolution_kernel_gradient;
}

}  // namespace

// Regions have one timeline with the steps around them, and a limit of memory leaves nothing for lanes.
std::size_t ExecutableBuilder::most_lanes() const {
  if (options_.concurrency < 2 || split_ || options_.memory_limit != 0) return 1;
  return static_cast<std::size_t>(std::min(options_.concurrency, device_.lanes()));
}

void ExecutableBuilder::choose_sections() {
  lane_of_.assign(target_.steps_.size(), none);
  const bool has_regions =
      std::ranges::any_of(graph_.nodes(), [](const core::GraphNode& node) { return holds_regions(node); });
  if (most_lanes() < 2 || has_regions) return;
  const core::DeviceProperties& machine = device_.properties();
  std::vector<SectionStep> steps;
  for (const ExecutableStep& step : target_.steps_) {
    const core::GraphNode& node = graph_.nodes()[step.node];
    SectionStep& made = steps.emplace_back();
    made.needs_order = node.op == core::OpId::custom || core::definition(node.op).is(core::Traits::effect);
    double bytes = 0;
    for (std::uint32_t i = 0; i < step.input_count + step.output_count; ++i) {
      const OperandView& seen = target_.operand_views_[step.first_operand + i];
      const std::size_t element = size_of(seen.dtype);
      bytes += static_cast<double>(seen.view.count()) * static_cast<double>(element);
      made.uses.push_back({target_.operands_[step.first_operand + i], seen.view, element, i >= step.input_count});
    }
    const double operations = step.copies ? 0 : recompute::flops(graph_, node);
    const double rate = machine.operations_per_nanosecond / (is_product(node.op) ? 1 : element_operations);
    made.alone = std::max(operations / rate, bytes / machine.bytes_per_nanosecond);
    made.together = std::min(made.alone, made.alone / device_.lanes() + nanoseconds_to_hand_out);
  }
  target_.sections_ = parallel_sections(steps, most_lanes());
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
