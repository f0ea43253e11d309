// SPDX-License-Identifier: MIT
// Copies, fills and writes memory for the kernels of regions: at once on the host, enqueued with the steps elsewhere.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "core/device/device.hpp"
#include "core/value/copy_bytes.hpp"

namespace tyto::run {

class RegionMemory {
 public:
  explicit RegionMemory(core::Device& device) : device_(device), on_host_(device.properties().host_memory) {}

  core::Device& device() const { return device_; }
  bool on_host() const { return on_host_; }

  bool is_same(core::Address a, core::Address b) const {
    return on_host_ ? a.pointer() == b.pointer() : a.memory == b.memory && a.offset == b.offset;
  }
  /// Copies what does not lie there already.
  void move(core::Address to, core::Address from, std::size_t bytes) const {
    if (bytes == 0 || is_same(to, from)) return;
    if (on_host_) core::copy_bytes(to.pointer(), from.pointer(), bytes);
    else device_.copy(to, from, bytes);
  }
  void fill(core::Address at, std::byte with, std::size_t bytes) const {
    if (bytes != 0) device_.fill(at, {&with, 1}, bytes);
  }

  /// Waits for the steps before, on other devices than the host.
  template <class T>
  T read(core::Address at) const {
    T value;
    if (on_host_) std::memcpy(&value, at.pointer(), sizeof value);
    else device_.copy_out(&value, at, sizeof value);
    return value;
  }
  /// Does not wait: of a size that devices can fill memory with.
  template <class T>
  void write(core::Address at, const T& value) const {
    static_assert(sizeof(T) == 8 || sizeof(T) == 16);
    if (on_host_) std::memcpy(at.pointer(), &value, sizeof value);
    else device_.fill(at, std::as_bytes(std::span(&value, 1)), sizeof value);
  }

 private:
  core::Device& device_;
  bool on_host_;
};

}  // namespace tyto::run
