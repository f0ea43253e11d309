// SPDX-License-Identifier: MIT
// The entry points of the failing driver, a line each: objects that they create or release, and how they return a
// status.
#if defined(TYTO_HAVE_OPENCL)

#define CL_TARGET_OPENCL_VERSION 120
#include "tests/opencl/failing_driver.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

namespace tyto::opencl::test {

namespace {

struct Watch {
  std::mutex mutex;
  std::optional<DriverFault> fault;
  std::optional<std::string> failed_call;
  std::size_t seen = 0;  // calls that the fault is about
  std::map<std::string, std::size_t> counted;
  std::map<std::string, long> living;
  std::optional<cl_uint> platforms;
  std::atomic<bool> own_memory = false;
  std::atomic<bool> narrow = false;
  CopiedBytes copied;
};

// Never destroyed: libraries release their objects when the process ends.
Watch& watch() {
  static Watch* const kept = new Watch;
  return *kept;
}

/// Notes a call; what it is to fail with, or CL_SUCCESS.
cl_int note(const char* call) {
  const std::lock_guard lock(watch().mutex);
  ++watch().counted[call];
  if (!watch().fault) return CL_SUCCESS;
  if (watch().failed_call) return watch().fault->for_good ? watch().fault->status : CL_SUCCESS;
  if (!watch().fault->call.empty() && watch().fault->call != call) return CL_SUCCESS;
  if (++watch().seen != watch().fault->at) return CL_SUCCESS;
  watch().failed_call = call;
  return watch().fault->status;
}

void count_living(const char* kind, long change) {
  const std::lock_guard lock(watch().mutex);
  watch().living[kind] += change;
}

void count_copied(std::size_t CopiedBytes::*way, std::size_t bytes) {
  const std::lock_guard lock(watch().mutex);
  watch().copied.*way += bytes;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

template <class Function, class... Arguments>
cl_int status_of(const char* name, Function* function, Arguments... arguments) {
  if (const cl_int status = note(name); status != CL_SUCCESS) return status;
  return function(arguments...);
}

template <class Function, class... Arguments>
cl_int enqueued(const char* name, Function* function, cl_event* event, Arguments... arguments) {
  const cl_int status = status_of(name, function, arguments..., event);
  if (status == CL_SUCCESS && event != nullptr) count_living("event", 1);
  return status;
}

template <class Function, class... Arguments>
auto made(const char* name, const char* kind, Function* function, cl_int* status, Arguments... arguments) {
  using Object = decltype(function(arguments..., status));
  cl_int own = note(name);
  Object object = own == CL_SUCCESS ? function(arguments..., &own) : nullptr;
  if (own == CL_SUCCESS) count_living(kind, 1);
  if (status != nullptr) *status = own;
  return object;
}

template <class Function, class Object>
cl_int referenced(const char* name, const char* kind, long change, Function* function, Object object) {
  const cl_int status = function(object);
  {
    const std::lock_guard lock(watch().mutex);
    ++watch().counted[name];
  }
  if (status == CL_SUCCESS) count_living(kind, change);
  return status;
}

}  // namespace

FailingDriver::FailingDriver(DriverFault wanted) {
  const std::lock_guard lock(watch().mutex);
  watch().fault = std::move(wanted);
  watch().failed_call.reset();
  watch().seen = 0;
}

FailingDriver::~FailingDriver() {
  const std::lock_guard lock(watch().mutex);
  watch().fault.reset();
}

std::optional<std::string> FailingDriver::failed() const {
  const std::lock_guard lock(watch().mutex);
  return watch().failed_call;
}

void begin_count() {
  const std::lock_guard lock(watch().mutex);
  watch().counted.clear();
  watch().copied = {};
}

CopiedBytes copied_bytes() {
  const std::lock_guard lock(watch().mutex);
  return watch().copied;
}

void pretend_own_memory(bool pretend) { watch().own_memory = pretend; }

void pretend_narrow(bool pretend) { watch().narrow = pretend; }

std::map<std::string, std::size_t> calls() {
  const std::lock_guard lock(watch().mutex);
  return watch().counted;
}

std::map<std::string, long> living_objects() {
  const std::lock_guard lock(watch().mutex);
  return watch().living;
}

void pretend_platforms(std::optional<cl_uint> count) {
  const std::lock_guard lock(watch().mutex);
  watch().platforms = count;
}

}  // namespace tyto::opencl::test

namespace driver = tyto::opencl::test;

#define TYTO_REAL(name)                                                \
  []() {                                                               \
    static auto* const function = driver::real<decltype(name)>(#name); \
    return function;                                                   \
  }()

// Libraries that enqueue work of their own call these, too.
#pragma GCC visibility push(default)
extern "C" {

cl_int CL_API_CALL clGetPlatformIDs(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  const std::optional<cl_uint> pretended = driver::watch().platforms;
  if (!pretended) return driver::status_of("clGetPlatformIDs", TYTO_REAL(clGetPlatformIDs), entries, platforms, count);
  if (*pretended == 0) return -1001;  // CL_PLATFORM_NOT_FOUND_KHR, of the loader
  if (count != nullptr) *count = *pretended;
  if (platforms == nullptr) return CL_SUCCESS;
  const cl_int status = TYTO_REAL(clGetPlatformIDs)(1, platforms, nullptr);
  for (cl_uint i = 1; i < entries && i < *pretended; ++i) platforms[i] = platforms[0];
  return status;
}

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint entries, cl_device_id* devices,
                                  cl_uint* count) {
  return driver::status_of("clGetDeviceIDs", TYTO_REAL(clGetDeviceIDs), platform, type, entries, devices, count);
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info what, std::size_t bytes, void* value,
                                   std::size_t* needed) {
  const cl_int status = TYTO_REAL(clGetDeviceInfo)(device, what, bytes, value, needed);
  if (what == CL_DEVICE_HOST_UNIFIED_MEMORY && value != nullptr && driver::watch().own_memory) {
    constexpr cl_bool no = CL_FALSE;
    std::memcpy(value, &no, sizeof no);
  }
  if (what == CL_DEVICE_EXTENSIONS && value != nullptr && driver::watch().narrow) {
    if (char* const found = std::strstr(static_cast<char*>(value), "cl_khr_fp64")) *found = 'x';
  }
  return status;
}

cl_context CL_API_CALL clCreateContext(const cl_context_properties* properties, cl_uint count,
                                       const cl_device_id* devices,
                                       void(CL_CALLBACK* notify)(const char*, const void*, std::size_t, void*),
                                       void* user, cl_int* status) {
  return driver::made("clCreateContext", "context", TYTO_REAL(clCreateContext), status, properties, count, devices,
                      notify, user);
}
cl_int CL_API_CALL clRetainContext(cl_context context) {
  return driver::referenced("clRetainContext", "context", 1, TYTO_REAL(clRetainContext), context);
}
cl_int CL_API_CALL clReleaseContext(cl_context context) {
  return driver::referenced("clReleaseContext", "context", -1, TYTO_REAL(clReleaseContext), context);
}

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                  cl_command_queue_properties properties, cl_int* status) {
  return driver::made("clCreateCommandQueue", "queue", TYTO_REAL(clCreateCommandQueue), status, context, device,
                      properties);
}
cl_int CL_API_CALL clRetainCommandQueue(cl_command_queue queue) {
  return driver::referenced("clRetainCommandQueue", "queue", 1, TYTO_REAL(clRetainCommandQueue), queue);
}
cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue queue) {
  return driver::referenced("clReleaseCommandQueue", "queue", -1, TYTO_REAL(clReleaseCommandQueue), queue);
}

cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, std::size_t bytes, void* host,
                                  cl_int* status) {
  return driver::made("clCreateBuffer", "buffer", TYTO_REAL(clCreateBuffer), status, context, flags, bytes, host);
}
cl_mem CL_API_CALL clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void* region,
                                     cl_int* status) {
  return driver::made("clCreateSubBuffer", "buffer", TYTO_REAL(clCreateSubBuffer), status, buffer, flags, type, region);
}
cl_int CL_API_CALL clRetainMemObject(cl_mem memory) {
  return driver::referenced("clRetainMemObject", "buffer", 1, TYTO_REAL(clRetainMemObject), memory);
}
cl_int CL_API_CALL clReleaseMemObject(cl_mem memory) {
  return driver::referenced("clReleaseMemObject", "buffer", -1, TYTO_REAL(clReleaseMemObject), memory);
}
cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem memory, void(CL_CALLBACK* notify)(cl_mem, void*),
                                                    void* user) {
  return driver::status_of("clSetMemObjectDestructorCallback", TYTO_REAL(clSetMemObjectDestructorCallback), memory,
                           notify, user);
}
cl_int CL_API_CALL clGetMemObjectInfo(cl_mem memory, cl_mem_info what, std::size_t bytes, void* value,
                                      std::size_t* needed) {
  return driver::status_of("clGetMemObjectInfo", TYTO_REAL(clGetMemObjectInfo), memory, what, bytes, value, needed);
}

cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count, const char** texts,
                                                 const std::size_t* lengths, cl_int* status) {
  return driver::made("clCreateProgramWithSource", "program", TYTO_REAL(clCreateProgramWithSource), status, context,
                      count, texts, lengths);
}
cl_program CL_API_CALL clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id* devices,
                                                 const std::size_t* lengths, const unsigned char** binaries,
                                                 cl_int* loaded, cl_int* status) {
  return driver::made("clCreateProgramWithBinary", "program", TYTO_REAL(clCreateProgramWithBinary), status, context,
                      count, devices, lengths, binaries, loaded);
}
cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                                  void(CL_CALLBACK* notify)(cl_program, void*), void* user) {
  return driver::status_of("clBuildProgram", TYTO_REAL(clBuildProgram), program, count, devices, options, notify, user);
}
cl_int CL_API_CALL clGetProgramInfo(cl_program program, cl_program_info what, std::size_t bytes, void* value,
                                    std::size_t* needed) {
  return driver::status_of("clGetProgramInfo", TYTO_REAL(clGetProgramInfo), program, what, bytes, value, needed);
}
cl_int CL_API_CALL clRetainProgram(cl_program program) {
  return driver::referenced("clRetainProgram", "program", 1, TYTO_REAL(clRetainProgram), program);
}
cl_int CL_API_CALL clReleaseProgram(cl_program program) {
  return driver::referenced("clReleaseProgram", "program", -1, TYTO_REAL(clReleaseProgram), program);
}

cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char* name, cl_int* status) {
  return driver::made("clCreateKernel", "kernel", TYTO_REAL(clCreateKernel), status, program, name);
}
cl_int CL_API_CALL clSetKernelArg(cl_kernel kernel, cl_uint position, std::size_t bytes, const void* value) {
  return driver::status_of("clSetKernelArg", TYTO_REAL(clSetKernelArg), kernel, position, bytes, value);
}
cl_int CL_API_CALL clRetainKernel(cl_kernel kernel) {
  return driver::referenced("clRetainKernel", "kernel", 1, TYTO_REAL(clRetainKernel), kernel);
}
cl_int CL_API_CALL clReleaseKernel(cl_kernel kernel) {
  return driver::referenced("clReleaseKernel", "kernel", -1, TYTO_REAL(clReleaseKernel), kernel);
}

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint axes,
                                          const std::size_t* offset, const std::size_t* global,
                                          const std::size_t* local, cl_uint waits, const cl_event* wait,
                                          cl_event* event) {
  return driver::enqueued("clEnqueueNDRangeKernel", TYTO_REAL(clEnqueueNDRangeKernel), event, queue, kernel, axes,
                          offset, global, local, waits, wait);
}
cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, std::size_t offset,
                                       std::size_t bytes, void* target, cl_uint waits, const cl_event* wait,
                                       cl_event* event) {
  driver::count_copied(&driver::CopiedBytes::out, bytes);
  return driver::enqueued("clEnqueueReadBuffer", TYTO_REAL(clEnqueueReadBuffer), event, queue, memory, blocking, offset,
                          bytes, target, waits, wait);
}
cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, std::size_t offset,
                                        std::size_t bytes, const void* source, cl_uint waits, const cl_event* wait,
                                        cl_event* event) {
  driver::count_copied(&driver::CopiedBytes::in, bytes);
  return driver::enqueued("clEnqueueWriteBuffer", TYTO_REAL(clEnqueueWriteBuffer), event, queue, memory, blocking,
                          offset, bytes, source, waits, wait);
}
cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, std::size_t from_offset,
                                       std::size_t to_offset, std::size_t bytes, cl_uint waits, const cl_event* wait,
                                       cl_event* event) {
  driver::count_copied(&driver::CopiedBytes::within, bytes);
  return driver::enqueued("clEnqueueCopyBuffer", TYTO_REAL(clEnqueueCopyBuffer), event, queue, from, to, from_offset,
                          to_offset, bytes, waits, wait);
}
cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void* pattern,
                                       std::size_t pattern_bytes, std::size_t offset, std::size_t bytes, cl_uint waits,
                                       const cl_event* wait, cl_event* event) {
  return driver::enqueued("clEnqueueFillBuffer", TYTO_REAL(clEnqueueFillBuffer), event, queue, memory, pattern,
                          pattern_bytes, offset, bytes, waits, wait);
}
void* CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_map_flags flags,
                                     std::size_t offset, std::size_t bytes, cl_uint waits, const cl_event* wait,
                                     cl_event* event, cl_int* status) {
  void* const mapped = driver::made("clEnqueueMapBuffer", "mapped", TYTO_REAL(clEnqueueMapBuffer), status, queue,
                                    memory, blocking, flags, offset, bytes, waits, wait, event);
  if (mapped != nullptr && event != nullptr) driver::count_living("event", 1);
  return mapped;
}
// It ends the life of a share in a buffer: nobody is left to be told of a failure.
cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void* mapped, cl_uint waits,
                                           const cl_event* wait, cl_event* event) {
  driver::count_living("mapped", -1);
  return TYTO_REAL(clEnqueueUnmapMemObject)(queue, memory, mapped, waits, wait, event);
}
cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint waits, const cl_event* wait,
                                               cl_event* event) {
  return driver::enqueued("clEnqueueMarkerWithWaitList", TYTO_REAL(clEnqueueMarkerWithWaitList), event, queue, waits,
                          wait);
}
cl_int CL_API_CALL clFinish(cl_command_queue queue) {
  return driver::status_of("clFinish", TYTO_REAL(clFinish), queue);
}
cl_int CL_API_CALL clGetEventProfilingInfo(cl_event event, cl_profiling_info what, std::size_t bytes, void* value,
                                           std::size_t* needed) {
  return driver::status_of("clGetEventProfilingInfo", TYTO_REAL(clGetEventProfilingInfo), event, what, bytes, value,
                           needed);
}
cl_int CL_API_CALL clRetainEvent(cl_event event) {
  return driver::referenced("clRetainEvent", "event", 1, TYTO_REAL(clRetainEvent), event);
}
cl_int CL_API_CALL clReleaseEvent(cl_event event) {
  return driver::referenced("clReleaseEvent", "event", -1, TYTO_REAL(clReleaseEvent), event);
}

}  // extern "C"
#pragma GCC visibility pop

#undef TYTO_REAL

#endif
