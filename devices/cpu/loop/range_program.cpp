// SPDX-License-Identifier: MIT
// Chooses between machine code and the interpreter, and places operands for either.
#include "devices/cpu/loop/range_program.hpp"

#include <algorithm>

#include "core/loop/loop_rows.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/loop_kernels.hpp"

namespace tyto::cpu {

namespace {

/// Programs become machine code where there is a JIT, unless an instruction set or the interpreter is asked for.
bool wants_machine_code(const KernelChoice& choice) {
  if (choice.loops == LoopBackend::interpreter || !jit::is_available()) return false;
  return choice.loops == LoopBackend::jit || !choice.instructions;
}

/// One operator over many bools without gaps. The interpreter's loop takes a whole vector of bytes at a time; machine
/// code computes them in 32 bits each, and is ahead where few elements or several operators make up for it.
bool is_for_loops_of_bytes(const core::BoundLoop& bound) {
  constexpr std::int64_t enough = 4096;
  const auto boolean = [](const core::Operand& operand) {
    return operand.dtype == DType::boolean && core::is_dense(operand.view);
  };
  const core::LoopProgram& program = bound.loop.program;
  return program.instructions.size() == 1 && bound.outputs[0].view.count() >= enough &&
         std::ranges::all_of(bound.inputs, boolean) && std::ranges::all_of(bound.outputs, boolean) &&
         working_type(core::definition(program.instructions[0].op).domain, DType::boolean) == DType::boolean;
}

void check_operands(const core::BoundLoop& bound) {
  const std::size_t inputs = bound.inputs.size(), outputs = bound.outputs.size();
  if (std::max(inputs, outputs) <= most_operands) return;
  core::throw_error<DeviceError>("cpu: an element-wise program may have ", most_operands,
                                 " inputs and as many outputs, this one has ", inputs, " and ", outputs);
}

}  // namespace

void RangeRunner::bind(std::span<const OperandBase> inputs, std::span<const OperandBase> outputs) {
  buffer_count_ = 0;
  std::size_t operand = 0;
  for (const auto& operands : {inputs, outputs}) {
    for (const OperandBase& base : operands) {
      starts_[operand] = base.start;
      if (base.row_bytes != 0) buffers_[buffer_count_++] = {operand, base};
      ++operand;
    }
  }
  choose_by_starts();
}

void RangeRunner::set_first_row(std::int64_t row) {
  for (std::size_t i = 0; i < buffer_count_; ++i) starts_[buffers_[i].operand] = buffers_[i].base.beginning_with(row);
}

core::BoundLoop bound_loop(core::LoopProgram program, std::vector<core::Operand> inputs,
                           std::vector<core::Operand> outputs) {
  core::BoundLoop bound;
  bound.loop.shape = outputs[0].view.shape;
  bound.loop.program = std::move(program);
  bound.inputs = std::move(inputs);
  bound.outputs = std::move(outputs);
  return bound;
}

KernelRef prepare_elements(const core::BoundLoop& bound, const KernelChoice& choice) {
  if (bound.outputs[0].view.count() == 0) return no_work();
  check_operands(bound);
  const bool interpreted = choice.loops == LoopBackend::automatic && is_for_loops_of_bytes(bound);
  if (!interpreted && wants_machine_code(choice)) {
    auto kernel = prepare_repeated_rows(bound, choice);
    if (kernel == nullptr) kernel = jit::prepare_loop(bound, choice);
    if (kernel != nullptr) return kernel;
  }
  return prepare_tiles(bound, choice);
}

std::shared_ptr<const RangeProgram> prepare_ranges(const core::BoundLoop& bound, std::int64_t length,
                                                   const RangePolicy& policy, const KernelChoice& choice) {
  check_operands(bound);
  if (wants_machine_code(choice)) {
    if (auto ranges = jit::prepare_loop_ranges(bound, length, policy, choice.set())) return ranges;
  }
  if (core::has_reductions(bound.loop.program) || !policy.transposed.empty()) return nullptr;
  return prepare_tile_ranges(bound, choice.set());
}

}  // namespace tyto::cpu
