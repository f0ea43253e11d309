// Runs tile programs: a program, the layouts of its operands and the compiled loops become a kernel.
#pragma once

#include <memory>
#include <span>

#include "devices/cpu/element_source.hpp"
#include "devices/cpu/kernel_choice.hpp"
#include "devices/cpu/tile_program.hpp"
#include "engine/core/device.hpp"

namespace tyto::cpu {

/// A kernel that runs the program over the operands, all of one shape. Outputs may have any strides but 0, and may be
/// laid exactly over an input of the same width. Throws DeviceError when an instruction has no loop for its types.
std::shared_ptr<const core::Kernel> prepare_tile_program(const TileProgram& program,
                                                         std::span<const core::Operand> inputs,
                                                         std::span<const core::Operand> outputs,
                                                         const KernelChoice& choice = {});

/// What a program computes, range by range: its only output is dense and nowhere as a whole. Nothing may be empty.
std::shared_ptr<const ElementSource> prepare_source(const TileProgram& program, std::span<const core::Operand> inputs,
                                                    const core::Operand& output, const KernelChoice& choice = {});

/// The kernel of one element-wise operator, of `cast` or of `copy`: a program of at most one instruction.
std::shared_ptr<const core::Kernel> prepare_elementwise(const core::Step& step, const KernelChoice& choice = {});

}  // namespace tyto::cpu
