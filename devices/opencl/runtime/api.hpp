// SPDX-License-Identifier: MIT
// OpenCL's C interface with counted handles, and its error codes as exceptions.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>
#include <string_view>
#include <utility>

namespace tyto::opencl {

/// "CL_OUT_OF_RESOURCES"; "unknown error" for a code that OpenCL 1.2 does not define.
const char* error_name(cl_int status);

/// "clFinish: CL_OUT_OF_RESOURCES (-5): the device ran out of ...": what a call of the driver reported.
std::string failure(std::string_view call, cl_int status);

/// Throws DeviceError "WHAT: " and the failure of the call unless the status is CL_SUCCESS.
void check(cl_int status, std::string_view call, std::string_view what);

/// Owns one reference to an OpenCL object.
template <class Object, cl_int(CL_API_CALL* release)(Object)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(Object object) : object_(object) {}
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr) release(object_);
  }

  Object get() const { return object_; }
  /// Gives the reference to the caller.
  Object release_ownership() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  Object object_ = nullptr;
};

using ContextHandle = Handle<cl_context, clReleaseContext>;
using QueueHandle = Handle<cl_command_queue, clReleaseCommandQueue>;
using ProgramHandle = Handle<cl_program, clReleaseProgram>;
using KernelHandle = Handle<cl_kernel, clReleaseKernel>;
using MemoryHandle = Handle<cl_mem, clReleaseMemObject>;

/// A text property of a platform or device.
std::string text_of(cl_platform_id platform, cl_platform_info what);
std::string text_of(cl_device_id device, cl_device_info what);

/// A property of fixed size; T{} where the driver does not know it.
template <class T>
T value_of(cl_device_id device, cl_device_info what) {
  T value{};
  if (clGetDeviceInfo(device, what, sizeof value, &value, nullptr) != CL_SUCCESS) return T{};
  return value;
}

}  // namespace tyto::opencl
