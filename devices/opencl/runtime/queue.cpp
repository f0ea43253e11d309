// SPDX-License-Identifier: MIT
// Opens command queues, and reads times from events.
#include "devices/opencl/runtime/queue.hpp"

#include <algorithm>

namespace tyto::opencl {

thread_local std::unique_ptr<Queue::Timing> Queue::timing_of_thread;

Queue::Queue(const std::string& name, cl_context context, cl_device_id device)
    : name_(name), context_(context), device_(device), plain_(open(0)) {}

QueueHandle Queue::open(cl_command_queue_properties properties) const {
  cl_int status = CL_SUCCESS;
  QueueHandle queue(clCreateCommandQueue(context_, device_, properties, &status));
  check(status, "clCreateCommandQueue", name_);
  return queue;
}

Queue::Timing* Queue::own_timing() const {
  return timing_of_thread && timing_of_thread->owner == this ? timing_of_thread.get() : nullptr;
}

void Queue::mark(Timing& timing, std::string_view what) const {
  cl_event event = nullptr;
  check(clEnqueueMarkerWithWaitList(timing.queue.get(), 0, nullptr, &event), "clEnqueueMarkerWithWaitList", what);
  timing.events.emplace_back(event);
}

void Queue::unmap(cl_mem buffer, void* memory) const {
  (void)clEnqueueUnmapMemObject(plain_.get(), buffer, memory, 0, nullptr, nullptr);
}

void Queue::finish() const {
  const std::string what = name_ + ": waiting for the device";
  check(clFinish(plain_.get()), "clFinish", what);
  if (const Timing* timing = own_timing()) check(clFinish(timing->queue.get()), "clFinish", what);
}

void Queue::start_timing() const {
  finish();
  timing_of_thread.reset(new Timing{this, open(CL_QUEUE_PROFILING_ENABLE), {}});
}

std::optional<double> Queue::lap() const {
  finish();
  Timing* const timing = own_timing();
  if (timing == nullptr || timing->events.empty()) return std::nullopt;
  cl_ulong first = CL_ULONG_MAX;
  cl_ulong last = 0;
  for (const EventHandle& event : timing->events) {
    const auto at = [&](cl_profiling_info what) {
      cl_ulong nanoseconds = 0;
      check(clGetEventProfilingInfo(event.get(), what, sizeof nanoseconds, &nanoseconds, nullptr),
            "clGetEventProfilingInfo", name_);
      return nanoseconds;
    };
    first = std::min(first, at(CL_PROFILING_COMMAND_START));
    last = std::max(last, at(CL_PROFILING_COMMAND_END));
  }
  timing->events.clear();
  return last > first ? static_cast<double>(last - first) / 1e6 : 0.0;
}

void Queue::stop_timing() const {
  if (Timing* const timing = own_timing()) {
    clFinish(timing->queue.get());
    timing_of_thread.reset();
  }
}

}  // namespace tyto::opencl
