// Fused groups: a group's program as a tile program, whose registers round every value to its type as memory would.
#include <map>

#include "devices/cpu/elementwise/domains.hpp"
#include "devices/cpu/elementwise/tile_kernel.hpp"
#include "devices/cpu/kernels.hpp"
#include "devices/cpu/reduce/reduce.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;

class Translation {
 public:
  Translation(const core::FusedProgram& program, std::span<const core::Operand> inputs)
      : group_(program), registers_(program.values()) {
    for (const core::Operand& input : inputs) types_.push_back(input.dtype);
    for (const core::FusedConstant& constant : program.constants) types_.push_back(constant.dtype);
    for (const core::FusedStep& step : program.steps) {
      types_.push_back(step.dtype);
      add(step, types_.size() - 1);
    }
    for (std::size_t i = 0; i < program.outputs.size(); ++i) {
      const std::uint16_t value = program.outputs[i];
      tiles_.output(as(value, types_[value]), static_cast<int>(i));
    }
  }

  const TileProgram& tiles() const { return tiles_; }
  DType result_type(std::size_t i) const { return types_[group_.outputs[i]]; }

 private:
  using Register = TileProgram::Register;

  /// A register that holds the value in the given type; a conversion is made once.
  Register as(std::uint16_t value, DType type) {
    const auto found = registers_[value].find(type);
    if (found != registers_[value].end()) return found->second;
    Register made = 0;
    if (value < group_.inputs) {
      made = tiles_.input(value, type);
    } else if (value < group_.first_step()) {
      const core::FusedConstant& constant = group_.constants[value - group_.inputs];
      made = tiles_.constant(constant.value, type);
    } else {
      made = tiles_.apply(OpId::cast, type, {registers_[value].at(types_[value])});
    }
    registers_[value][type] = made;
    return made;
  }

  void add(const core::FusedStep& step, std::size_t value) {
    Register result = 0;
    if (step.op == OpId::cast) {
      result = tiles_.apply(OpId::cast, step.dtype, {as(step.operands[0], types_[step.operands[0]])});
    } else {
      const int operands = core::definition(step.op).max_inputs;
      const core::Domain domain = domain_of(step.op);
      const DType type = working_type(domain, types_[step.operands[static_cast<std::size_t>(operands - 1)]]);
      std::array<Register, 3> list{};
      Register last = 0;  // operands that the operator does not have repeat it
      for (std::size_t i = 0; i < 3; ++i) {
        const bool truth = domain == core::Domain::selection && i == 0;
        if (i < static_cast<std::size_t>(operands)) last = as(step.operands[i], truth ? DType::boolean : type);
        list[i] = last;
      }
      const DType made = domain == core::Domain::comparison ? DType::boolean : type;
      result = tiles_.apply(step.op, made, {list[0], list[1], list[2]});
      if (made != step.dtype) result = tiles_.apply(OpId::cast, step.dtype, {result});
    }
    registers_[value][step.dtype] = result;
  }

  const core::FusedProgram& group_;
  std::vector<DType> types_;
  std::vector<std::map<DType, Register>> registers_;  // of each value, by type
  TileProgram tiles_;
};

/// The group's elements are computed where the reduction wants to read them.
std::shared_ptr<const core::Kernel> prepare_fold(const core::Step& step, const core::FusedAttributes& group,
                                                 std::span<const core::Operand> inputs) {
  core::FusedProgram elements = group.program;
  elements.outputs = {elements.steps.back().operands[0]};
  elements.steps.pop_back();
  const Translation translation(elements, inputs);
  const core::Operand whole{translation.result_type(0), core::View::dense(group.shape)};
  const core::Attributes over = core::AxesAttributes{group.axes, true};
  const core::Step reduction{group.program.steps.back().op, &over, {&whole, 1}, step.outputs};
  if (whole.view.count() == 0) return prepare_reduction(reduction, nullptr);
  return prepare_reduction(reduction, prepare_source(translation.tiles(), inputs, whole));
}

std::shared_ptr<const core::Kernel> prepare(const core::Step& step) {
  const auto& group = std::get<core::FusedAttributes>(*step.attributes);
  std::vector<core::Operand> inputs(step.inputs.begin(), step.inputs.end());
  for (core::Operand& input : inputs) input.view = core::broadcast_to(input.view, group.shape);
  if (!group.axes.empty()) return prepare_fold(step, group, inputs);
  return prepare_tile_program(Translation(group.program, inputs).tiles(), inputs, step.outputs);
}

constexpr KernelEntry entries[] = {{OpId::fused, prepare}};

}  // namespace

std::span<const KernelEntry> fused_kernels() { return entries; }

}  // namespace tyto::cpu
