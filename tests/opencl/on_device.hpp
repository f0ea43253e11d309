// SPDX-License-Identifier: MIT
// A device of its own for a test, and the scope that sends work to it.
#pragma once

#include <doctest/doctest.h>

#include "devices/opencl/device/device.hpp"
#include "devices/opencl/device/opencl_device.hpp"
#include "engine/run/devices.hpp"

namespace tyto::opencl::test {

/// Null, with a message, where there is no OpenCL platform.
inline cl_device_id first_device() {
  const auto found = opencl::devices();
  if (!found.empty()) return static_cast<OpenClDevice*>(found[0])->context().id;
  MESSAGE("no OpenCL platform on this machine: nothing is checked");
  return nullptr;
}

class OnDevice {
 public:
  explicit OnDevice(core::Device& device) : outer_(run::exchange_current_device(&device)) {}
  ~OnDevice() { run::exchange_current_device(outer_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  core::Device* outer_;
};

}  // namespace tyto::opencl::test
