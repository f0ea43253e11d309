// SPDX-License-Identifier: MIT
// The element-wise family: each operator, cast and copy as a tile program of one instruction.
#include <array>

#include "core/graph/op_ids.hpp"
#include "core/loop/bound_loop.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/device/part_kernel.hpp"
#include "devices/cpu/loop/interpreter/tile_kernel.hpp"
#include "devices/cpu/loop/interpreter/translation.hpp"
#include "devices/cpu/products/product_kernel.hpp"

namespace tyto::cpu {

namespace {

using core::elementwise_count;
using core::OpId;

std::shared_ptr<const core::Kernel> prepare_operator(const core::BoundLoop& bound, const KernelChoice& choice) {
  const Translation translation(bound.loop.program, bound.input_types());
  const TileProgram program = with_parts(translation.tiles(), bound);
  auto kernel = prepare_tile_program(program, bound.inputs, bound.outputs, choice);
  const bool whole = bound.input_of.empty() && bound.output_of.empty();
  if (!whole) return with_whole_operands(bound, std::move(kernel));
  return may_follow_product(std::move(kernel), program, bound.inputs, bound.outputs);
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
  return prepare_operator(*core::loop_of(step), choice);
}

std::span<const KernelEntry> elementwise_kernels() { return entries; }

}  // namespace tyto::cpu
