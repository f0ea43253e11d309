// SPDX-License-Identifier: MIT
// Bytes of an element, copied from where they are, as a number.
#include "core/device/array_element.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/device/device.hpp"
#include "core/value/stored_scalar.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

namespace {

template <class T>
Scalar complex_number(const std::array<T, 2>& parts) {
  return Scalar::complex(static_cast<double>(parts[0]), static_cast<double>(parts[1]));
}

Scalar number_at(const std::byte* place, DType dtype) {
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

}  // namespace

Scalar element_of(const Array& array, std::int64_t index) {
  std::int64_t place = array.view.offset;
  for (std::size_t axis = array.view.rank(); axis-- > 0;) {
    place += index % array.view.shape[axis] * array.view.strides[axis];
    index /= array.view.shape[axis];
  }
  const std::size_t width = size_of(array.dtype), offset = static_cast<std::size_t>(place) * width;
  Device& device = *array.buffer->device();
  if (device.properties().host_memory) {
    return number_at(static_cast<const std::byte*>(array.buffer->memory()) + offset, array.dtype);
  }
  std::array<std::byte, 16> copy{};
  device.copy_out(copy.data(), array.buffer->at(offset), width);
  return number_at(copy.data(), array.dtype);
}

std::string first_numbers(const Array& array, std::int64_t most) {
  const std::int64_t count = array.view.count();
  std::string out = "{";
  for (std::int64_t i = 0; i < std::min(count, most); ++i) {
    out += text(i == 0 ? "" : ", ", to_string(element_of(array, i)));
  }
  return out + (count > most ? ", ...}" : "}");
}

}  // namespace tyto::core
