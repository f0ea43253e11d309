// SPDX-License-Identifier: MIT
// The number that fills a tensor, seen through views of it; see the header.
#include "optimiser/passes/scalar_constant.hpp"

#include <array>
#include <cstring>

#include "core/device/device.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/stored_scalar.hpp"

namespace tyto::optimiser {

using core::OpId;
using core::Port;

namespace {

template <class T>
Scalar complex_number(const std::array<T, 2>& parts) {
  return Scalar::complex(static_cast<double>(parts[0]), static_cast<double>(parts[1]));
}

Scalar element(const std::byte* place, DType dtype) {
  const auto load = [place](auto value) {
    std::memcpy(&value, place, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::boolean: return Scalar(load(std::uint8_t{}) != 0);
    case DType::u8: return Scalar(load(std::uint8_t{}));
    case DType::i8: return Scalar(load(std::int8_t{}));
    case DType::i16: return Scalar(load(std::int16_t{}));
    case DType::i32: return Scalar(load(std::int32_t{}));
    case DType::u16: return Scalar(load(std::uint16_t{}));
    case DType::u32: return Scalar(load(std::uint32_t{}));
    case DType::u64: return Scalar(load(std::uint64_t{}));
    case DType::i64: return Scalar(load(std::int64_t{}));
    case DType::f16: return Scalar(static_cast<float>(load(Half(0.0f))));
    case DType::bf16: return Scalar(static_cast<float>(load(BFloat16(0.0f))));
    case DType::f32: return Scalar(load(0.0f));
    case DType::f64: return Scalar(load(0.0));
    case DType::c64: return complex_number(load(std::array<float, 2>{}));
    case DType::c128: return complex_number(load(std::array<double, 2>{}));
  }
  return {};
}

bool is_one_element(const core::View& view) {
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0 || (view.shape[i] != 1 && view.strides[i] != 0)) return false;
  }
  return true;
}

std::optional<Scalar> number_in(const core::Array& array) {
  if (!is_one_element(array.view)) return {};
  const std::size_t width = size_of(array.dtype);
  const std::size_t offset = static_cast<std::size_t>(array.view.offset) * width;
  core::Device& device = *array.buffer->device();
  if (device.properties().host_memory) {
    return element(static_cast<const std::byte*>(array.buffer->memory()) + offset, array.dtype);
  }
  std::array<std::byte, 16> copy{};
  device.copy_out(copy.data(), array.buffer->at(offset), width);
  return element(copy.data(), array.dtype);
}

}  // namespace

bool may_be_scalar(OpId op) {
  return op == OpId::constant || op == OpId::fill || op == OpId::broadcast_to || op == OpId::reshape;
}

std::optional<Scalar> scalar_of(GraphEditor& editor, Port port) {
  // Views of one number are that number; chains of views are short once they have been collapsed.
  for (int depth = 0; depth < 4; ++depth) {
    const GraphEditor::Index producer = editor.producer(port);
    const OpId op = editor.node(producer).op;
    if (op == OpId::constant) return number_in(editor.attributes_as<core::ConstantAttributes>(producer).array);
    if (op == OpId::fill) {
      const auto& fill = editor.attributes_as<core::RangeAttributes>(producer);
      return core::as_stored(fill.start, fill.dtype);
    }
    if (!may_be_scalar(op)) return {};
    port = editor.input(producer, 0);
  }
  return {};
}

}  // namespace tyto::optimiser
