// SPDX-License-Identifier: MIT
// Memory of tensors: a reference-counted buffer of one device, and the part of it that a tensor occupies.
#pragma once

#include <cstddef>
#include <memory>

#include "core/value/view.hpp"

namespace tyto::core {

class Device;

/// A place in a device's memory: a pointer on the CPU; elsewhere a device handle and a byte offset into it.
struct Address {
  void* memory = nullptr;
  std::size_t offset = 0;

  std::byte* pointer() const { return static_cast<std::byte*>(memory) + offset; }
  Address operator+(std::size_t bytes) const { return {memory, offset + bytes}; }
};

/// Bytes on a device. `memory` is a pointer on the CPU and a device's own handle elsewhere.
class Buffer {
 public:
  using Release = void (*)(Device* device, void* memory, std::size_t bytes, void* context);

  Buffer(Device* device, void* memory, std::size_t bytes, Release release, void* context = nullptr)
      : device_(device), memory_(memory), bytes_(bytes), release_(release), context_(context) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (release_ != nullptr) release_(device_, memory_, bytes_, context_);
  }

  Device* device() const { return device_; }
  void* memory() const { return memory_; }
  std::size_t bytes() const { return bytes_; }
  Address at(std::size_t offset) const { return {memory_, offset}; }
  bool is_released_by(Release release) const { return release_ == release; }
  /// Borrowed from the user: may be read, never written.
  bool read_only() const { return read_only_; }
  void set_read_only() { read_only_ = true; }
  /// Every byte was zero when the buffer was allocated.
  bool began_zeroed() const { return began_zeroed_; }
  void set_began_zeroed() { began_zeroed_ = true; }

 private:
  Device* device_;
  void* memory_;
  std::size_t bytes_;
  Release release_;
  void* context_;
  bool read_only_ = false;
  bool began_zeroed_ = false;
};

using BufferRef = std::shared_ptr<Buffer>;

/// A tensor with contents: where its elements lie. The view's offset counts elements from the buffer's start.
struct Array {
  BufferRef buffer;
  DType dtype = DType::f32;
  View view;

  explicit operator bool() const { return buffer != nullptr; }
};

}  // namespace tyto::core
