// SPDX-License-Identifier: MIT
// A driver of OpenCL that fails on demand: its entry points count calls and live objects, and forward to the real ones.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CL/cl.h>

namespace tyto::opencl::test {

/// Which call fails, counted from 1 and from when the fault was set, and with what.
struct DriverFault {
  std::string call;  // "clFinish"; "" stands for every call that can fail
  std::size_t at = 1;
  cl_int status = CL_OUT_OF_RESOURCES;
  bool for_good = false;  // all calls that can fail do so from then on, as those of a lost device
};

/// Fails as it says for as long as it lives. One at a time.
class FailingDriver {
 public:
  explicit FailingDriver(DriverFault fault);
  ~FailingDriver();
  FailingDriver(const FailingDriver&) = delete;
  FailingDriver& operator=(const FailingDriver&) = delete;

  /// The call that failed first; nothing if none did.
  std::optional<std::string> failed() const;
};

/// Begins to count the calls of each entry point, which calls() returns.
void begin_count();
std::map<std::string, std::size_t> calls();

/// Bytes that the driver was asked to copy since the count was begun: to the device, from it, and on it.
struct CopiedBytes {
  std::size_t in = 0, out = 0, within = 0;
};
CopiedBytes copied_bytes();

/// Objects that were made or retained less those that were released: "buffer", "kernel", "program", "event", ...
std::map<std::string, long> living_objects();

/// From now on there are so many platforms, each with the devices of the first; 0 for none, nothing for those there
/// are.
void pretend_platforms(std::optional<cl_uint> count);

/// Whether devices say that they have memory of their own, whatever they have.
void pretend_own_memory(bool pretend);

/// Whether devices hide that they compute in f64.
void pretend_narrow(bool pretend);

}  // namespace tyto::opencl::test
