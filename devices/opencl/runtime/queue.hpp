// SPDX-License-Identifier: MIT
// The command queue of a device, and a profiling queue for each thread that asks for times.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "devices/opencl/runtime/api.hpp"

namespace tyto::opencl {

using EventHandle = Handle<cl_event, clReleaseEvent>;

/// In order: a step sees what the steps before it wrote, without an event for each. Drivers time what is in a queue
/// only if it was made for that, and then all of it, so there is such a queue only while a thread asks for times.
class Queue {
 public:
  Queue(const std::string& name, cl_context context, cl_device_id device);
  /// Waits: what is enqueued uses memory that goes with the device.
  ~Queue() { (void)clFinish(plain_.get()); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Calls enqueue(queue, event), which says how that went; the event may be null, as it is for work that is not timed.
  /// `call` is the function of OpenCL that it calls; `what` is a text, or makes one where it is needed.
  template <class What, class Enqueue>
  void enqueue(std::string_view call, const What& what, const Enqueue& enqueue) const {
    Timing* const timing = own_timing();
    cl_event event = nullptr;
    const cl_int status = timing == nullptr ? enqueue(plain_.get(), nullptr) : enqueue(timing->queue.get(), &event);
    if (status != CL_SUCCESS) {
      if constexpr (std::is_invocable_v<What>) check(status, call, what());
      else check(status, call, what);
    }
    if (timing != nullptr) timing->events.emplace_back(event);
  }
  /// For libraries that enqueue what they like: calls work(queue), between two marks if it is timed.
  template <class Work>
  void give(std::string_view what, const Work& work) const {
    Timing* const timing = own_timing();
    if (timing == nullptr) return work(plain_.get());
    mark(*timing, what);
    work(timing->queue.get());
    mark(*timing, what);
  }
  /// Enqueues the end of the host's view of a buffer. A device that refuses is lost, and so is the view.
  void unmap(cl_mem buffer, void* memory) const;
  void finish() const;

  /// The clock of core::Device.
  void start_timing() const;
  std::optional<double> lap() const;
  void stop_timing() const;

 private:
  struct Timing {
    const Queue* owner;
    QueueHandle queue;
    std::vector<EventHandle> events;
  };

  /// Null where this thread does not time this queue.
  Timing* own_timing() const;
  void mark(Timing& timing, std::string_view what) const;
  QueueHandle open(cl_command_queue_properties properties) const;

  std::string name_;
  cl_context context_;
  cl_device_id device_;
  QueueHandle plain_;

  // Thread-local memory is scarce in programs that load the library late (tests/hygiene/check_loading.sh).
  static thread_local std::unique_ptr<Timing> timing_of_thread;
};

}  // namespace tyto::opencl
