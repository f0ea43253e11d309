// SPDX-License-Identifier: MIT
// Lists the devices, and selects the one that new tensors and graphs go to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tyto/dtype.hpp"
#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// An available device.
struct DeviceInfo {
  std::string name;          ///< "cpu", "opencl:0", ...
  std::string description;   ///< the vendor's own text
  std::size_t max_buffer;    ///< largest single allocation in bytes
  std::size_t allocated;     ///< bytes that Tyto holds there now
  std::vector<DType> types;  ///< of elements that it computes with; what is of others runs on the CPU
};

/// All devices, the CPU first.
std::vector<DeviceInfo> devices();

/// While alive, tensors created and graphs compiled on this thread go to the named device ("cpu", "opencl",
/// "opencl:1").
class DeviceScope {
 public:
  explicit DeviceScope(std::string_view name);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  void* outer_;
};

/// Threads that the CPU device uses, also set by TYTO_THREADS; `threads(n)` sets the number, from 1 to 1024. Between
/// steps they spin, or sleep while other programs want the processors (docs/performance/threads.md).
int threads();
void threads(int count);

/// Gives memory kept for reuse back to the system.
void trim_memory();

}  // namespace TYTO_API
