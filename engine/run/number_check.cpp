// SPDX-License-Identifier: MIT
// Detects NaN and infinities by their bits: every floating-point format has an exponent of ones for both.
#include "engine/run/number_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/graph/attributes.hpp"
#include "core/graph/number_check_pause.hpp"
#include "core/graph/op_ids.hpp"
#include "core/system/environment.hpp"
#include "core/value/text.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/executable.hpp"

namespace tyto::run {

namespace {

enum class Kind : std::uint8_t { finite, infinite, nan };

template <class Bits, Bits exponent>
Kind kind_of(const std::byte* element) {
  Bits bits;
  std::memcpy(&bits, element, sizeof bits);
  constexpr auto magnitude = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);
  bits = static_cast<Bits>(bits & magnitude);
  return bits > exponent ? Kind::nan : bits == exponent ? Kind::infinite : Kind::finite;
}

using KindOf = Kind (*)(const std::byte*);

KindOf kind_of_part(DType part) {
  switch (part) {
    case DType::f16: return kind_of<std::uint16_t, 0x7C00>;
    case DType::bf16: return kind_of<std::uint16_t, 0x7F80>;
    case DType::f32: return kind_of<std::uint32_t, 0x7F800000>;
    case DType::f64: return kind_of<std::uint64_t, 0x7FF0000000000000>;
    default: return nullptr;
  }
}

/// Calls `seen(element, index)` for every element in row-major order until it returns false.
template <class F>
void for_each_element(const core::View& view, const F& seen) {
  const auto rank = static_cast<std::size_t>(view.rank());
  Shape index(rank, 0);
  std::int64_t element = view.offset;
  for (std::int64_t left = view.count(); left > 0; --left) {
    if (!seen(element, index)) return;
    for (std::size_t axis = rank; axis-- > 0;) {
      element += view.strides[axis];
      if (++index[axis] < view.shape[axis]) break;
      element -= view.strides[axis] * view.shape[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

NumberCheck number_check_of_environment() {
  const auto value = core::environment("TYTO_NAN");
  return {value && *value != "0", value == "inf"};
}

NumberCheck number_check_of(const CompileOptions& options) {
  const NumberCheck given = number_check_of_environment();
  return {given.nan || options.check_nan || options.check_infinity, given.infinity || options.check_infinity};
}

Elements elements_of(const core::Array& array) {
  return {array.buffer->device(), array.buffer->at(0), array.dtype, &array.view};
}

WrongNumbers wrong_numbers(const Elements& elements) {
  WrongNumbers found;
  const core::View& view = *elements.view;
  const DType part = is_complex(elements.dtype) ? real_type(elements.dtype) : elements.dtype;
  const KindOf kind = kind_of_part(part);
  if (kind == nullptr || view.count() == 0) return found;
  const auto width = static_cast<std::int64_t>(size_of(elements.dtype));
  const core::ElementRange range = core::touched(view);
  const core::Address first = elements.start + static_cast<std::size_t>(range.first * width);
  std::vector<std::byte> copy;
  const std::byte* from = nullptr;
  if (elements.device->properties().host_memory) {
    from = first.pointer();
  } else {
    copy.resize(static_cast<std::size_t>((range.past - range.first) * width));
    elements.device->copy_out(copy.data(), first, copy.size());
    from = copy.data();
  }
  for_each_element(view, [&](std::int64_t element, const Shape& index) {
    const std::byte* const at = from + (element - range.first) * width;
    for (std::int64_t inside = 0; inside < width; inside += static_cast<std::int64_t>(size_of(part))) {
      const Kind each = kind(at + inside);
      if (each == Kind::nan && !found.nan) found.nan = index;
      if (each == Kind::infinite && !found.infinity) found.infinity = index;
    }
    return !found.nan || !found.infinity;
  });
  return found;
}

void check_result(const NumberCheck& check, std::string_view op, const core::Label& label, const Elements& result,
                  std::span<const CheckedOperand> operands) {
  if (core::NumberCheckPause::alive != 0) return;
  const WrongNumbers wrong = wrong_numbers(result);
  const auto is_nan = [](const CheckedOperand& operand) { return operand.wrong.nan.has_value(); };
  const auto is_infinite = [](const CheckedOperand& operand) { return operand.wrong.infinity.has_value(); };
  const auto nan = std::ranges::find_if(operands, is_nan);
  const auto infinite = std::ranges::find_if(operands, is_infinite);
  const bool shows_infinity = check.infinity && wrong.infinity && infinite == operands.end();
  if (!(check.nan && wrong.nan) && !shows_infinity) return;
  std::string message = core::text(op, ": the result ", result.dtype, result.view->shape, " is ");
  if (check.nan && wrong.nan) {
    message += core::text("NaN first at ", *wrong.nan, "; ");
    if (nan != operands.end()) message += core::text(nan->name, " is NaN already, first at ", *nan->wrong.nan);
    else if (infinite != operands.end())
      message +=
          core::text("no operand is, but ", infinite->name, " is infinite, first at ", *infinite->wrong.infinity);
    else message += "all operands are finite";
  } else {
    message += core::text("infinite first at ", *wrong.infinity, "; all operands are finite");
  }
  try {
    throw ValueError(message);
  } catch (...) {
    core::rethrow_with_label(label);
  }
}

CheckedStep::CheckedStep(const Executable& executable, std::size_t step, const core::Address* addresses)
    : executable_(executable), step_(step), addresses_(addresses), check_(executable.number_check()) {
  if (!is_checked()) return;
  const ExecutableStep& own = executable_.steps()[step_];
  for (std::uint32_t i = 0; i < own.input_count; ++i) {
    const std::uint32_t operand = own.first_operand + i;
    operands_.push_back({name_of(operand, i), wrong_numbers(elements(operand))});
  }
  const core::GraphNode& node = executable_.graph().nodes()[own.node];
  // Regions and fused loops hold numbers of their own, which a mask may need infinite.
  if (own.region != nullptr) check_.infinity = false;
  if (node.op != core::OpId::fused) return;
  const core::LoopProgram& program = std::get<core::LoopAttributes>(executable_.graph().attributes(node)).program;
  for (const core::LoopConstant& constant : program.constants) {
    if (std::isinf(constant.value.as_double())) check_.infinity = false;
  }
}

// Steps that only move numbers, to other devices or into packed weights, make no NaN; a value without operands is the
// user's.
bool CheckedStep::is_checked() const {
  const ExecutableStep& step = executable_.steps()[step_];
  if (step.copies || step.input_count == 0) return false;
  return core::definition(executable_.graph().nodes()[step.node].op).name == step.name;
}

Elements CheckedStep::elements(std::uint32_t operand) const {
  const Storage& storage = executable_.storages()[executable_.operands()[operand]];
  core::Device* device = &executable_.device();
  if (storage.kind == StorageKind::host) device = &cpu_device();
  if (storage.kind == StorageKind::constant) device = executable_.constants()[storage.index].buffer->device();
  const OperandView& seen = executable_.operand_views()[operand];
  core::Address start = addresses_[operand];
  start.offset -= executable_.shifts()[operand];
  return {device, start, seen.dtype, &seen.view};
}

std::string CheckedStep::name_of(std::uint32_t operand, std::size_t number) const {
  const Storage& storage = executable_.storages()[executable_.operands()[operand]];
  std::string name = core::text("operand ", number + 1);
  if (storage.kind != StorageKind::input) return name;
  const std::string& input = executable_.graph().inputs()[storage.index].name;
  return input.empty() ? name : core::text(name, ", '", input, "',");
}

void CheckedStep::check_results() const {
  if (!is_checked()) return;
  const ExecutableStep& step = executable_.steps()[step_];
  const core::Label& label = executable_.graph().nodes()[step.node].label;
  for (std::uint32_t i = 0; i < step.output_count; ++i) {
    check_result(check_, step.name, label, elements(step.first_operand + step.input_count + i), operands_);
  }
}

}  // namespace tyto::run
