// The element-wise family: each operator, cast and copy as a tile program of one instruction.
#include <array>

#include "core/op_ids.hpp"
#include "devices/cpu/elementwise/domains.hpp"
#include "devices/cpu/elementwise/tile_kernel.hpp"
#include "devices/cpu/elementwise/tile_loops.hpp"
#include "devices/cpu/kernels.hpp"

namespace tyto::cpu {

namespace {

using core::Domain;
using core::elementwise_count;
using core::OpId;

TileProgram program_of(const core::Step& step) {
  TileProgram program;
  const DType to = step.outputs[0].dtype;
  if (step.op == OpId::copy) {
    program.output(program.input(0, to), 0);
    return program;
  }
  if (step.op == OpId::cast) {
    const DType from = step.inputs[0].dtype;
    program.output(program.apply(OpId::cast, to, {program.input(0, from)}), 0);
    return program;
  }
  const Domain domain = core::definition(step.op).domain;
  std::array<TileProgram::Register, 3> operands{};
  const DType type = working_type(domain, step.inputs.back().dtype);
  for (std::size_t i = 0; i < 3; ++i) {
    if (i >= step.inputs.size()) operands[i] = operands[i - 1];
    else if (domain == Domain::selection && i == 0) operands[i] = program.input(0, DType::boolean);
    else operands[i] = program.input(static_cast<int>(i), type);
  }
  const DType result = domain == Domain::comparison ? DType::boolean : type;
  program.output(program.apply(step.op, result, {operands[0], operands[1], operands[2]}), 0);
  return program;
}

constexpr auto prepare = [](const core::Step& step) { return prepare_elementwise(step); };

constexpr auto entries = [] {
  std::array<KernelEntry, elementwise_count + 2> list{};
  for (std::size_t i = 0; i < elementwise_count; ++i) list[i] = {static_cast<OpId>(i), prepare, nullptr, any_result};
  list[elementwise_count] = {OpId::cast, prepare, nullptr, any_result};
  list[elementwise_count + 1] = {OpId::copy, prepare, nullptr, any_result};
  return list;
}();

}  // namespace

std::shared_ptr<const core::Kernel> prepare_elementwise(const core::Step& step, const KernelChoice& choice) {
  return prepare_tile_program(program_of(step), step.inputs, step.outputs, choice);
}

std::span<const KernelEntry> elementwise_kernels() { return entries; }

}  // namespace tyto::cpu
