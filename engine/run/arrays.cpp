// SPDX-License-Identifier: MIT
// Copies whole arrays.
#include "engine/run/arrays.hpp"

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/run/devices.hpp"

namespace tyto::run {

core::Address address_of(const core::Array& array) { return array.buffer->at(0); }

std::size_t byte_count(DType dtype, const Shape& shape) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  if (count > static_cast<std::size_t>(INT64_MAX) / size_of(dtype)) {
    core::throw_error<ShapeError>("a tensor of shape ", shape, " has more bytes than 63 bits can count");
  }
  return count * size_of(dtype);
}

core::Array new_array(core::Device& device, DType dtype, const Shape& shape) {
  return {device.allocate(byte_count(dtype, shape)), dtype, core::View::dense(shape)};
}

void copy_elements(const core::Array& from, const core::Array& to) {
  const core::Operand source{from.dtype, from.view};
  const core::Operand target{to.dtype, to.view};
  const core::Attributes none;
  core::Device& device = *from.buffer->device();
  // Where kernels are compiled, none is needed for bytes in a row.
  if (!device.properties().host_memory && core::is_dense(from.view) && core::is_dense(to.view)) {
    const std::size_t width = size_of(from.dtype);
    const auto start = [&](const core::Array& array) {
      return array.buffer->at(static_cast<std::size_t>(array.view.offset) * width);
    };
    return device.copy(start(to), start(from), static_cast<std::size_t>(from.view.count()) * width);
  }
  const auto kernel = device.prepare({core::OpId::copy, &none, {&source, 1}, {&target, 1}});
  launch_copy(*kernel, device, address_of(from), address_of(to));
}

void launch_copy(const core::Kernel& kernel, core::Device& device, core::Address from, core::Address to) {
  core::BufferRef workspace;
  if (kernel.workspace() != 0) workspace = device.allocate(kernel.workspace());
  kernel.launch({&from, 1}, {&to, 1}, {workspace ? workspace->memory() : nullptr, 0});
}

core::Array contiguous(core::Array array) {
  if (core::is_dense(array.view)) return array;
  core::Array copy = new_array(*array.buffer->device(), array.dtype, array.view.shape);
  copy_elements(array, copy);
  return copy;
}

std::vector<std::byte> host_bytes(const core::Array& array) {
  const core::Array dense = contiguous(array);
  const std::size_t width = size_of(dense.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(dense.view.count()) * width);
  const std::size_t start = static_cast<std::size_t>(dense.view.offset) * width;
  if (!bytes.empty()) dense.buffer->device()->copy_out(bytes.data(), dense.buffer->at(start), bytes.size());
  return bytes;
}

core::Array to_device(core::Array array, core::Device& device) {
  core::Device& home = *array.buffer->device();
  if (&home == &device) return array;
  const core::Array source = contiguous(array);
  const std::size_t width = size_of(array.dtype);
  const std::size_t bytes = static_cast<std::size_t>(array.view.count()) * width;
  const std::size_t offset = static_cast<std::size_t>(source.view.offset) * width;
  if (bytes == 0) return new_array(device, array.dtype, array.view.shape);
  core::Device& cpu = cpu_device();
  core::BufferRef share;
  if (&home == &cpu) share = device.share_from_host(source.buffer, offset, bytes);
  else if (&device == &cpu) share = home.share_with_host(source.buffer, offset, bytes, cpu);
  if (share != nullptr) return {share, array.dtype, core::View::dense(array.view.shape)};
  core::Array copy = new_array(device, array.dtype, array.view.shape);
  if (&home == &cpu) {
    device.copy_in(copy.buffer->at(0), source.buffer->at(offset).pointer(), bytes);
  } else if (&device == &cpu) {
    home.copy_out(copy.buffer->memory(), source.buffer->at(offset), bytes);
  } else {
    return to_device(to_device(array, cpu), device);
  }
  return copy;
}

}  // namespace tyto::run
