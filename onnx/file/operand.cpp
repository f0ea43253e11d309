// SPDX-License-Identifier: MIT
// Taking operands apart into tensors, and putting them together again.
#include "onnx/file/operand.hpp"

#include <algorithm>

#include "core/value/text.hpp"
#include "tyto/error.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

constexpr std::int64_t no_tensor = -1;
constexpr std::int64_t a_tensor = -2;  // less its element type

Array indexed(const Array& x, std::int64_t axis, const Index& index) {
  std::vector<Index> entries(static_cast<std::size_t>(x.ndim()), Index(all));
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + x.ndim() : axis);
  static_cast<void>(axis_length(x, at));  // or there is no such axis
  entries[at] = index;
  return x.get(entries);
}

}  // namespace

Operand::Operand() = default;
Operand::Operand(Array value, bool is_known) : tensor(std::move(value)), known(is_known) {}
Operand::Operand(const Operand& other) = default;
Operand::Operand(Operand&& other) noexcept = default;
Operand& Operand::operator=(const Operand& other) = default;
Operand& Operand::operator=(Operand&& other) = default;
Operand::~Operand() = default;

Operand Operand::of_sequence(std::vector<Operand> elements) {
  Operand operand;
  operand.known = std::all_of(elements.begin(), elements.end(), [](const Operand& element) { return element.known; });
  operand.sequence = std::make_shared<const std::vector<Operand>>(std::move(elements));
  return operand;
}

Operand Operand::of_nothing() {
  Operand operand;
  operand.known = true;
  return operand;
}

Array halves_in_f32(const Array& x) {
  return x.dtype() == DType::f16 || x.dtype() == DType::bf16 ? cast(x, DType::f32) : x;
}

std::int64_t axis_length(const Array& x, std::size_t axis) {
  if (axis >= x.shape().size()) {
    core::throw_error<ShapeError>("an input of shape ", x.shape(), " has too few axes");
  }
  return x.shape()[axis];
}

Array part_of(const Array& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  return indexed(x, axis, slice(begin, end));
}
Array joined_pair(const Array& a, const Array& b, std::int64_t axis) { return concat<Any>({a, b}, axis); }
Array at_position(const Array& x, std::int64_t axis, std::int64_t i) { return indexed(x, axis, i); }

Layout layout_of(std::span<const Operand> operands, Layout layout) {
  layout.clear();
  layout.reserve(operands.size());
  for (const Operand& operand : operands) {
    if (operand.sequence != nullptr) layout.push_back(static_cast<std::int64_t>(operand.sequence->size()));
    else layout.push_back(operand.tensor.defined() ? a_tensor - operand.element_type : no_tensor);
  }
  return layout;
}

std::vector<Value> values_of(std::span<const Operand> operands, std::vector<Value> values) {
  values.clear();
  values.reserve(operands.size());
  for (const Operand& operand : operands) {
    with_tensors(operand, [&](const Operand& element) {
      values.push_back(element.tensor.value());
      return element;
    });
  }
  return values;
}

std::vector<Operand> operands_from(const Layout& layout, std::span<const Value> values, bool known,
                                   std::vector<Operand> operands) {
  operands.clear();
  operands.reserve(layout.size());
  auto next = values.begin();
  for (const std::int64_t part : layout) {
    if (part <= a_tensor) {
      operands.emplace_back(Array(*next++), known).element_type = a_tensor - part;
    } else if (part == no_tensor) {
      operands.push_back(Operand::of_nothing());
    } else {
      std::vector<Operand> elements;
      for (std::int64_t i = 0; i < part; ++i) elements.emplace_back(Array(*next++), known);
      operands.push_back(Operand::of_sequence(std::move(elements)));
    }
  }
  return operands;
}

}  // namespace tyto::onnx
