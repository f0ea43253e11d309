// SPDX-License-Identifier: MIT
// Translates a loop program into code by evaluating every operator's expression on lanes that record.
#pragma once

#include <optional>
#include <span>

#include "core/graph/loop_program.hpp"
#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"
#include "devices/cpu/loop/jit/code.hpp"

namespace tyto::cpu::jit {

/// How an input lies in memory.
struct InputSpec {
  DType stored = DType::f32;
  bool same_along_row = false;  ///< one element stands for a whole row
};

/// `outputs`: the types that results are stored in; of an output that is a reduction, its partial result. Operators
/// without code of lanes call the loops given. `scales`: the processor has an instruction for Op::scale. Throws
/// DeviceError when an instruction has no loop for its types.
Code record(const core::LoopProgram& program, std::span<const InputSpec> inputs, std::span<const DType> outputs,
            const TileLoops& loops, bool scales);

/// The type of a reduction's partial result, as fold_rules knows it; none where there is no code for it.
std::optional<DType> partial_type(core::OpId op, DType type);

}  // namespace tyto::cpu::jit
