// SPDX-License-Identifier: MIT
// Names and meanings of OpenCL's error codes, and reads of its text properties.
#include "devices/opencl/runtime/api.hpp"

#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::opencl {

const char* error_name(cl_int status) {
  switch (status) {
#define TYTO_NAME(code) \
  case code: return #code;
    TYTO_NAME(CL_SUCCESS)
    TYTO_NAME(CL_DEVICE_NOT_FOUND)
    TYTO_NAME(CL_DEVICE_NOT_AVAILABLE)
    TYTO_NAME(CL_COMPILER_NOT_AVAILABLE)
    TYTO_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    TYTO_NAME(CL_OUT_OF_RESOURCES)
    TYTO_NAME(CL_OUT_OF_HOST_MEMORY)
    TYTO_NAME(CL_PROFILING_INFO_NOT_AVAILABLE)
    TYTO_NAME(CL_MEM_COPY_OVERLAP)
    TYTO_NAME(CL_BUILD_PROGRAM_FAILURE)
    TYTO_NAME(CL_MAP_FAILURE)
    TYTO_NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET)
    TYTO_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    TYTO_NAME(CL_COMPILE_PROGRAM_FAILURE)
    TYTO_NAME(CL_LINKER_NOT_AVAILABLE)
    TYTO_NAME(CL_LINK_PROGRAM_FAILURE)
    TYTO_NAME(CL_DEVICE_PARTITION_FAILED)
    TYTO_NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)
    TYTO_NAME(CL_INVALID_VALUE)
    TYTO_NAME(CL_INVALID_DEVICE_TYPE)
    TYTO_NAME(CL_INVALID_PLATFORM)
    TYTO_NAME(CL_INVALID_DEVICE)
    TYTO_NAME(CL_INVALID_CONTEXT)
    TYTO_NAME(CL_INVALID_QUEUE_PROPERTIES)
    TYTO_NAME(CL_INVALID_COMMAND_QUEUE)
    TYTO_NAME(CL_INVALID_HOST_PTR)
    TYTO_NAME(CL_INVALID_MEM_OBJECT)
    TYTO_NAME(CL_INVALID_BINARY)
    TYTO_NAME(CL_INVALID_BUILD_OPTIONS)
    TYTO_NAME(CL_INVALID_PROGRAM)
    TYTO_NAME(CL_INVALID_PROGRAM_EXECUTABLE)
    TYTO_NAME(CL_INVALID_KERNEL_NAME)
    TYTO_NAME(CL_INVALID_KERNEL_DEFINITION)
    TYTO_NAME(CL_INVALID_KERNEL)
    TYTO_NAME(CL_INVALID_ARG_INDEX)
    TYTO_NAME(CL_INVALID_ARG_VALUE)
    TYTO_NAME(CL_INVALID_ARG_SIZE)
    TYTO_NAME(CL_INVALID_KERNEL_ARGS)
    TYTO_NAME(CL_INVALID_WORK_DIMENSION)
    TYTO_NAME(CL_INVALID_WORK_GROUP_SIZE)
    TYTO_NAME(CL_INVALID_WORK_ITEM_SIZE)
    TYTO_NAME(CL_INVALID_GLOBAL_OFFSET)
    TYTO_NAME(CL_INVALID_EVENT_WAIT_LIST)
    TYTO_NAME(CL_INVALID_EVENT)
    TYTO_NAME(CL_INVALID_OPERATION)
    TYTO_NAME(CL_INVALID_BUFFER_SIZE)
    TYTO_NAME(CL_INVALID_GLOBAL_WORK_SIZE)
    TYTO_NAME(CL_INVALID_PROPERTY)
    TYTO_NAME(CL_INVALID_COMPILER_OPTIONS)
    TYTO_NAME(CL_INVALID_LINKER_OPTIONS)
#undef TYTO_NAME
    default: return "unknown error";
  }
}

namespace {

// The meaning of error codes that no fault of ours explains; empty for the others.
std::string_view meaning_of(cl_int status) {
  switch (status) {
    case CL_DEVICE_NOT_AVAILABLE: return "the device cannot be used now";
    case CL_COMPILER_NOT_AVAILABLE: return "the driver has no compiler";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return "the device has not enough memory left";
    case CL_OUT_OF_RESOURCES: return "the device ran out of memory or registers, or was lost";
    case CL_OUT_OF_HOST_MEMORY: return "the driver found not enough memory on the host";
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: return "work that was enqueued before has failed";
    case CL_BUILD_PROGRAM_FAILURE: return "the driver's compiler refused the program";
    case CL_INVALID_COMMAND_QUEUE:
    case CL_INVALID_CONTEXT:
    case CL_INVALID_DEVICE: return "the device was lost";
    default: return {};
  }
}

// OpenCL's texts end in a zero that is counted.
template <class Query>
std::string read_text(Query query) {
  std::size_t size = 0;
  if (query(0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (query(size, text.data(), nullptr) != CL_SUCCESS) return {};
  return text.substr(0, text.find('\0'));
}

}  // namespace

std::string failure(std::string_view call, cl_int status) {
  const std::string_view meaning = meaning_of(status);
  return core::text(call, ": ", error_name(status), " (", status, ")", meaning.empty() ? "" : ": ", meaning);
}

void check(cl_int status, std::string_view call, std::string_view what) {
  if (status != CL_SUCCESS) core::throw_error<DeviceError>(what, ": ", failure(call, status));
}

std::string text_of(cl_platform_id platform, cl_platform_info what) {
  return read_text([&](std::size_t size, void* value, std::size_t* needed) {
    return clGetPlatformInfo(platform, what, size, value, needed);
  });
}

std::string text_of(cl_device_id device, cl_device_info what) {
  return read_text([&](std::size_t size, void* value, std::size_t* needed) {
    return clGetDeviceInfo(device, what, size, value, needed);
  });
}

}  // namespace tyto::opencl
