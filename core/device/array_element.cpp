// SPDX-License-Identifier: MIT
// Reads single elements through the array's device.
#include "core/value/array_element.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/device/device.hpp"
#include "core/value/element_types.hpp"
#include "core/value/stored_scalar.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

namespace {

Scalar number_at(const std::byte* place, DType dtype) {
  if (dtype == DType::boolean) return Scalar(*place != std::byte{0});
  return with_element_type(dtype, [&]<class E>() {
    E element;
    std::memcpy(&element, place, sizeof element);
    if constexpr (ComplexNumber<E>) {
      return Scalar::complex(static_cast<double>(element.real()), static_cast<double>(element.imag()));
    } else if constexpr (std::is_arithmetic_v<E>) {
      return Scalar(element);
    } else {
      return Scalar(static_cast<float>(element));
    }
  });
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

std::string first_numbers(std::span<const Scalar> numbers, bool are_all) {
  std::string out = "{";
  for (std::size_t i = 0; i < numbers.size(); ++i) out += text(i == 0 ? "" : ", ", to_string(numbers[i]));
  return out + (are_all ? "}" : ", ...}");
}

std::string first_numbers(const Array& array, std::int64_t most) {
  const std::int64_t count = array.view.count();
  std::vector<Scalar> numbers;
  for (std::int64_t i = 0; i < std::min(count, most); ++i) numbers.push_back(element_of(array, i));
  return first_numbers(numbers, count <= most);
}

}  // namespace tyto::core
