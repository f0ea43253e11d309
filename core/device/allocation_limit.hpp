// SPDX-License-Identifier: MIT
// AllocationLimit limits the bytes that a thread may allocate, checked before memory is taken: for untrusted models.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tyto/error.hpp"

namespace tyto::core {

class Device;

/// Memory that was asked for beyond the limit; nothing was allocated.
class AllocationRefused : public DeviceError {
 public:
  AllocationRefused(std::size_t asked, std::size_t held, std::size_t limit);
  std::size_t asked = 0;  // bytes
  std::size_t held = 0;   // taken since the limit began, and not given back
  std::size_t limit = 0;
};

/// While alive, what devices allocate on this thread may come to so many bytes at a time. Scopes nest, and each holds.
class AllocationLimit {
 public:
  explicit AllocationLimit(std::size_t bytes);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;

  /// Throws AllocationRefused where a limit of this thread does not admit the buffer. Devices ask before they allocate.
  static void require(const Device& device, std::size_t bytes);
  /// The same for memory that is no device's.
  static void require(std::size_t bytes);

 private:
  std::size_t bytes_;
  std::vector<std::pair<const Device*, std::size_t>> held_before_;  // as devices are first asked
  AllocationLimit* outer_;
};

}  // namespace tyto::core
