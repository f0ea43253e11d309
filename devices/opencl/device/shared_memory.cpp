// SPDX-License-Identifier: MIT
// Buffers over the host's memory, and the host's view of buffers, where both are one memory.
#include <cstdint>

#include "core/value/text.hpp"
#include "devices/opencl/device/opencl_device.hpp"

namespace tyto::opencl {

namespace {

/// Below it a copy costs no more than what sharing asks of the driver.
constexpr std::size_t least_shared = 4096;
/// Bytes; what devices in the processor's memory ask of memory that they are to use as it lies.
constexpr std::uintptr_t shared_alignment = 64;

bool is_aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % shared_alignment == 0; }

/// A part of a buffer that the host may read, until it is unmapped.
struct Mapped {
  core::BufferRef buffer;
  const Queue& queue;
  void* memory = nullptr;

  Mapped(core::BufferRef held, const Queue& on) : buffer(std::move(held)), queue(on) {}
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    if (memory != nullptr) queue.unmap(static_cast<cl_mem>(buffer->memory()), memory);
  }
};

}  // namespace

core::BufferRef OpenClDevice::share_from_host(const core::BufferRef& host, std::size_t offset, std::size_t bytes) {
  std::byte* const source = host->at(offset).pointer();
  // Of what the user lends, the owner may change the contents as soon as a call returns; of a small part of a large
  // buffer, the rest would stay with it.
  if (!context_.shares_host_memory || host->read_only() || bytes < least_shared || bytes < host->bytes() / 2 ||
      !is_aligned(source)) {
    return nullptr;
  }
  const auto what = [&] { return text(context_.name, ": sharing ", bytes, " bytes of the host's memory"); };
  cl_int status = CL_SUCCESS;
  MemoryHandle memory(
      clCreateBuffer(context_.context.get(), CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes, source, &status));
  if (status != CL_SUCCESS) check(status, "clCreateBuffer", what());
  // Work that was enqueued may read it after the last of our references is gone.
  auto held = std::make_unique<core::BufferRef>(host);
  const auto let_go = [](cl_mem, void* kept) { delete static_cast<core::BufferRef*>(kept); };
  status = clSetMemObjectDestructorCallback(memory.get(), let_go, held.get());
  if (status != CL_SUCCESS) check(status, "clSetMemObjectDestructorCallback", what());
  (void)held.release();
  const auto release = [](core::Device*, void* object, std::size_t, void*) {
    clReleaseMemObject(static_cast<cl_mem>(object));
  };
  auto buffer = std::make_shared<core::Buffer>(this, memory.get(), bytes, release);
  memory.release_ownership();  // it is the buffer's
  buffer->set_read_only();
  return buffer;
}

core::BufferRef OpenClDevice::share_with_host(const core::BufferRef& buffer, std::size_t offset, std::size_t bytes,
                                              core::Device& host) {
  if (!context_.shares_host_memory || bytes < least_shared) return nullptr;
  auto mapped = std::make_unique<Mapped>(buffer, context_.queue);
  const auto what = [&] { return text(context_.name, ": showing ", bytes, " bytes to the host"); };
  context_.queue.enqueue("clEnqueueMapBuffer", what, [&](cl_command_queue queue, cl_event* event) {
    cl_int status = CL_SUCCESS;
    mapped->memory = clEnqueueMapBuffer(queue, static_cast<cl_mem>(buffer->memory()), CL_TRUE, CL_MAP_READ, offset,
                                        bytes, 0, nullptr, event, &status);
    return status;
  });
  context_.faults.check(context_.queue);
  context_.programs.save_new();
  if (!is_aligned(mapped->memory)) return nullptr;
  const auto release = [](core::Device*, void*, std::size_t, void* kept) { delete static_cast<Mapped*>(kept); };
  auto shown = std::make_shared<core::Buffer>(&host, mapped->memory, bytes, release, mapped.get());
  (void)mapped.release();
  shown->set_read_only();
  return shown;
}

}  // namespace tyto::opencl
