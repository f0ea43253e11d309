// SPDX-License-Identifier: MIT
// Reads a fault flag, and throws the error that the CPU's kernels throw.
#include "devices/opencl/runtime/faults.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "core/graph/index_messages.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::opencl {

namespace {

using core::OpId;
using core::text;

// As note_fault of mathematics_integer.cpp writes it; the code is in the lower half of the first number.
using Note = std::array<cl_long, 3>;

/// Bounds that kernels of this process hold values to, each once. A code is a place among them.
class KnownBounds {
 public:
  std::size_t place_of(const core::BoundsAttributes& bounds) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(known_, bounds);
    if (found == known_.end()) known_.push_back(bounds);
    return static_cast<std::size_t>(std::ranges::find(known_, bounds) - known_.begin());
  }
  core::BoundsAttributes at(std::size_t place) {
    const std::lock_guard lock(mutex_);
    return known_.at(place);
  }

 private:
  std::mutex mutex_;
  std::vector<core::BoundsAttributes> known_;
};

KnownBounds& known_bounds() {
  static KnownBounds known;
  return known;
}

std::string_view name_of(std::int64_t code) { return core::definition(static_cast<OpId>(code - 1)).name; }

[[noreturn]] void raise(const std::string& device, std::int32_t code, std::int64_t number, std::int64_t length) {
  if (code == Faults::loops_ended) {
    core::throw_error<DeviceError>(device, ": ", name_of(number),
                                   ": the driver ended loops of the kernel before they were done, ",
                                   "as llvmpipe does after 65,535 iterations; take fewer elements, or the device cpu");
  }
  if (code < Faults::loops_ended) {
    const auto place = static_cast<std::size_t>(Faults::loops_ended - 1 - code);
    core::throw_out_of_bounds(known_bounds().at(place), number);
  }
  const std::string_view name = name_of(code);
  if (code == Faults::code_of(OpId::histogram)) {
    core::throw_error<ValueError>(name, ": edges must ascend, but edge ", number, " is below edge ", number - 1);
  }
  throw IndexError(core::message_of_index(core::written_as(static_cast<OpId>(code - 1)), number, length));
}

}  // namespace

std::int32_t Faults::code_of(const core::BoundsAttributes& bounds) {
  return loops_ended - 1 - static_cast<std::int32_t>(known_bounds().place_of(bounds));
}

Faults::Faults(const std::string& device, cl_context context) : device_(device) {
  Note none{};
  cl_int status = CL_SUCCESS;
  memory_ = MemoryHandle(
      clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof none, none.data(), &status));
  opencl::check(status, "clCreateBuffer", device + ": the note of faults");
}

void Faults::check(const Queue& queue) const {
  if (!expected_.exchange(false, std::memory_order_relaxed)) return;
  const std::string what = device_ + ": reading what kernels noted";
  Note note{};
  std::int32_t code = 0;
  try {
    queue.enqueue("clEnqueueReadBuffer", what, [&](cl_command_queue on, cl_event* event) {
      return clEnqueueReadBuffer(on, memory_.get(), CL_TRUE, 0, sizeof note, note.data(), 0, nullptr, event);
    });
    code = static_cast<std::int32_t>(note[0] & 0xffffffff);
    if (code == 0) return;
    const Note none{};
    queue.enqueue("clEnqueueWriteBuffer", what, [&](cl_command_queue on, cl_event* event) {
      return clEnqueueWriteBuffer(on, memory_.get(), CL_TRUE, 0, sizeof none, none.data(), 0, nullptr, event);
    });
  } catch (const DeviceError&) {
    expect();  // the note is there still
    throw;
  }
  raise(device_, code, note[1], note[2]);
}

}  // namespace tyto::opencl
