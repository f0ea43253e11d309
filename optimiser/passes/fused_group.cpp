// SPDX-License-Identifier: MIT
// Assembles the loop program of a fused group: inputs and constants first, then instructions.
#include "optimiser/passes/fused_group.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/device/device.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/stored_scalar.hpp"

namespace tyto::optimiser {

namespace {

using core::LoopConstant;

template <class T>
T first_element(const core::Array& array) {
  T value;
  const auto* memory = static_cast<const std::byte*>(array.buffer->memory());
  std::memcpy(&value, memory + array.view.offset * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

std::optional<LoopConstant> fused_number_in(const core::Array& array) {
  if (array.view.rank() != 0 || !array.buffer->device()->properties().host_memory) return std::nullopt;
  switch (array.dtype) {
    case DType::boolean: return LoopConstant{first_element<std::uint8_t>(array) != 0, array.dtype};
    case DType::i32: return LoopConstant{first_element<std::int32_t>(array), array.dtype};
    case DType::u64: return LoopConstant{first_element<std::uint64_t>(array), array.dtype};
    case DType::i64: return LoopConstant{first_element<std::int64_t>(array), array.dtype};
    case DType::f32: return LoopConstant{first_element<float>(array), array.dtype};
    case DType::f64: return LoopConstant{first_element<double>(array), array.dtype};
    default: return std::nullopt;
  }
}

// Every type but bool expresses integers so small; -0 is none, nor is what has an imaginary part, were it -0.
bool is_small_and_whole(const Scalar& value) {
  const double number = value.as_double();
  const bool positive = !std::signbit(number) && !std::signbit(value.imaginary()) && value.imaginary() == 0;
  return positive && number <= 100 && number == static_cast<double>(static_cast<int>(number));
}

std::optional<LoopConstant> filled_with(const Scalar& given, DType dtype) {
  const Scalar value = core::as_stored(given, dtype);
  switch (dtype) {
    case DType::boolean:
    case DType::f32:
    case DType::f64: return LoopConstant{value, dtype};
    default: return is_small_and_whole(value) ? std::optional(LoopConstant{value.as_int(), dtype}) : std::nullopt;
  }
}

}  // namespace

std::optional<LoopConstant> scalar_of(const core::Graph& graph, Port port) {
  const core::GraphNode& node = graph.nodes()[graph.producer(port)];
  if (const core::Array* array = graph.constant(port)) return fused_number_in(*array);
  if (node.op != OpId::fill) return std::nullopt;
  const auto& range = std::get<core::RangeAttributes>(graph.attributes(node));
  return filled_with(range.start, range.dtype);
}

const FusedGroup::ValueRef* FusedGroup::find(Port port) const {
  const auto found =
      std::find_if(values_.rbegin(), values_.rend(), [&](const auto& value) { return value.first == port; });
  return found == values_.rend() ? nullptr : &found->second;
}

FusedGroup::ValueRef FusedGroup::reference_to(Port port) {
  if (const ValueRef* const known = find(port)) return *known;
  if (const auto number = scalar_of(graph_, port)) {
    const auto found = std::find(constants_.begin(), constants_.end(), *number);
    const ValueRef place{ValueRef::List::constants, static_cast<std::size_t>(found - constants_.begin())};
    if (found == constants_.end()) constants_.push_back(*number);
    values_.emplace_back(port, place);
    return place;
  }
  const ValueRef place{ValueRef::List::inputs, inputs_.size()};
  inputs_.push_back(port);
  values_.emplace_back(port, place);
  return place;
}

void FusedGroup::add_instruction(OpId op, Port result, std::span<const Port> operands) {
  Instruction instruction{op, graph_.type(result).dtype, {}, operands.size()};
  for (std::size_t k = 0; k < operands.size(); ++k) instruction.operands[k] = reference_to(operands[k]);
  values_.emplace_back(result, ValueRef{ValueRef::List::instructions, instructions_.size()});
  instructions_.push_back(instruction);
}

core::LoopAttributes FusedGroup::attributes() const {
  core::LoopAttributes group;
  group.shape = shape_;
  group.axes = axes_;
  core::LoopProgram& program = group.program;
  program.inputs = static_cast<std::uint16_t>(inputs_.size());
  program.constants = constants_;
  const auto number = [&](const ValueRef& place) {
    std::size_t value = place.at;
    if (place.list != ValueRef::List::inputs) value += inputs_.size();
    if (place.list == ValueRef::List::instructions) value += constants_.size();
    return static_cast<std::uint16_t>(value);
  };
  program.instructions.reserve(instructions_.size());
  for (const Instruction& instruction : instructions_) {
    core::LoopInstruction& made = program.instructions.emplace_back();
    made.op = instruction.op;
    made.dtype = instruction.dtype;
    for (std::size_t k = 0; k < instruction.operand_count; ++k) made.operands[k] = number(instruction.operands[k]);
  }
  for (const Port port : outputs_) program.outputs.push_back(number(*find(port)));
  return group;
}

}  // namespace tyto::optimiser
