// SPDX-License-Identifier: MIT
// Kernels of loops by machine code or the interpreter: over all elements, over rows, or stage by stage.
// range_program.cpp and loop.cpp choose among them.
#pragma once

#include <cstdint>
#include <memory>

#include "core/loop/bound_loop.hpp"
#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/range_program.hpp"

namespace tyto::cpu {

namespace jit {

/// Null where there is no machine code to be had. See prepare_elements for what operands may be.
KernelRef prepare_loop(const core::BoundLoop& bound, const KernelChoice& choice);

/// See prepare_ranges. Reductions write one partial result a row, dense over the rows. Null where there is no machine
/// code to be had.
std::shared_ptr<const RangeProgram> prepare_loop_ranges(const core::BoundLoop& bound, std::int64_t length,
                                                        const RangePolicy& policy, InstructionSet set);

}  // namespace jit

/// The interpreter's kernel; see prepare_elements.
KernelRef prepare_tiles(const core::BoundLoop& bound, const KernelChoice& choice);

/// The interpreter's range program, which has no reductions; see prepare_ranges.
std::shared_ptr<const RangeProgram> prepare_tile_ranges(const core::BoundLoop& bound, InstructionSet set);

/// A kernel of machine code for rows that are shorter than a few vectors because operands have one value a column: it
/// repeats such operands a few times over, so that several rows are one. Null where rows are long enough, where
/// something else than such operands cuts them, where their number has no fitting divisor, or where there is no machine
/// code to be had.
KernelRef prepare_repeated_rows(const core::BoundLoop& bound, const KernelChoice& choice);

/// Bytes from one row of transposed copies to the next: an odd number of cache lines, so that the lines of one column
/// of a block fall into all sets of a cache.
std::size_t copied_row_bytes(std::size_t element, std::int64_t length);

/// A program that copies rows of `length` elements of an operand whose memory runs across them; null where elements
/// that follow one another in memory are not those of neighbouring rows.
std::shared_ptr<const RangeProgram> prepare_transposed_rows(const core::Operand& operand, std::int64_t length);

/// The kernel of a loop that reduces its last axes: a block of rows at a time goes through all stages, while it lies in
/// the cache. Gives the bits of the operators one by one for rows of 16 elements or more; shorter ones those add in
/// another order.
KernelRef prepare_rows(const core::BoundLoop& loop);

/// The kernel of a loop whose reduced axes are neighbours: stages one after the other, each over a block that stays in
/// the cache where the reduced axes are not the last, or else over everything. Gives the bits of the operators one by
/// one on each block.
KernelRef prepare_staged(const core::BoundLoop& loop);

}  // namespace tyto::cpu
