// Fused groups: a group's program as a tile program, whose registers round every value to its type as memory would.
#include "core/fused_rows.hpp"
#include "core/op_ids.hpp"
#include "devices/cpu/elementwise/tile_kernel.hpp"
#include "devices/cpu/fused/rows.hpp"
#include "devices/cpu/fused/translation.hpp"
#include "devices/cpu/jit/compile.hpp"
#include "devices/cpu/jit/record.hpp"
#include "devices/cpu/kernels.hpp"
#include "devices/cpu/reduce/reduce.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;

std::vector<DType> types_of(std::span<const core::Operand> operands) {
  std::vector<DType> types;
  for (const core::Operand& operand : operands) types.push_back(operand.dtype);
  return types;
}

/// The types of a program's values: inputs, constants, steps.
std::vector<DType> value_types(const core::FusedProgram& program, std::vector<DType> types) {
  for (const core::FusedConstant& constant : program.constants) types.push_back(constant.dtype);
  for (const core::FusedStep& each : program.steps) types.push_back(each.dtype);
  return types;
}

/// The group's elements are computed where the reduction wants to read them.
std::shared_ptr<const core::Kernel> prepare_fold(const core::Step& step, const core::FusedAttributes& group,
                                                 std::span<const core::Operand> inputs) {
  core::FusedProgram elements = group.program;
  elements.outputs = {elements.steps.back().operands[0]};
  elements.steps.pop_back();
  const Translation translation(elements, types_of(inputs));
  const core::Operand whole{translation.result_type(0), core::View::dense(group.shape)};
  const core::Attributes over = core::AxesAttributes{group.axes, true};
  const core::Step reduction{group.program.steps.back().op, &over, {&whole, 1}, step.outputs};
  if (whole.view.count() == 0) return prepare_reduction(reduction, nullptr);
  const Reduction known = reduction_of(reduction.op);
  const bool summed = known.fold == Fold::sum && whole.dtype == DType::f32;
  const std::int64_t line = whole.view.count() / step.outputs[0].view.count();
  return prepare_reduction(reduction, prepare_source(translation.tiles(), inputs, whole, summed ? line : 0));
}

/// Whether the rows of a group that ends in its only reduction are reduced by machine code as they are computed, in the
/// order in which the reduction alone would: it takes shorter rows as columns, and cuts longer ones.
bool folds_rows(const core::FusedAttributes& group, std::span<const core::Operand> inputs) {
  constexpr std::int64_t shortest_row = 16, longest_row = 16384;
  std::int64_t length = 1;
  for (std::size_t i = 0; i < group.axes.size(); ++i) {
    const std::size_t axis = group.shape.size() - group.axes.size() + i;
    if (group.axes[i] != static_cast<std::int64_t>(axis)) return false;
    length *= group.shape[axis];
  }
  if (length < shortest_row || length > longest_row || element_count(group.shape) == 0) return false;
  const core::FusedStep& fold = group.program.steps.back();
  const std::vector<DType> types = value_types(group.program, types_of(inputs));
  return jit::is_available() && jit::partial_type(fold.op, types[fold.operands[0]]).has_value();
}

std::shared_ptr<const core::Kernel> prepare(const core::Step& step) {
  const auto& group = std::get<core::FusedAttributes>(*step.attributes);
  std::vector<core::Operand> inputs(step.inputs.begin(), step.inputs.end());
  for (core::Operand& input : inputs) input.view = core::broadcast_to(input.view, group.shape);
  if (!group.axes.empty()) {
    const bool alone = core::ends_in_its_only_reduction(group.program);
    return alone && !folds_rows(group, inputs) ? prepare_fold(step, group, inputs) : prepare_rows(step);
  }
  return prepare_tile_program(Translation(group.program, types_of(inputs)).tiles(), inputs, step.outputs);
}

constexpr KernelEntry entries[] = {{OpId::fused, prepare}};

}  // namespace

std::span<const KernelEntry> fused_kernels() { return entries; }

}  // namespace tyto::cpu
