// SPDX-License-Identifier: MIT
// Device-side error flag for faults that only a running kernel sees, such as an index out of range; the host throws.
#pragma once

#include <atomic>
#include <string>

#include "core/graph/operator.hpp"
#include "devices/opencl/runtime/api.hpp"
#include "devices/opencl/runtime/queue.hpp"

namespace tyto::opencl {

/// Kernels are enqueued without waiting for them, so a fault becomes an exception at the next wait of any thread. The
/// kernel goes on with position 0 in the place of an index that fits nowhere.
class Faults {
 public:
  Faults(const std::string& device, cl_context context);

  /// Where kernels note the first fault: what operator, and two numbers about it.
  cl_mem memory() const { return memory_.get(); }
  /// By what number a kernel tells its operator; never 0.
  static std::int32_t code_of(core::OpId op) { return static_cast<std::int32_t>(op) + 1; }
  /// By what number a kernel tells that a value is out of these bounds; below loops_ended.
  static std::int32_t code_of(const core::BoundsAttributes& bounds);
  /// In its place where the driver ended loops of a kernel, see loop_watch.hpp; the first number is the operator's.
  static constexpr std::int32_t loops_ended = -1;

  /// To be called whenever a kernel that may note a fault has been enqueued.
  void expect() const { expected_.store(true, std::memory_order_relaxed); }
  /// Throws what has been noted. Waits for the queue where anything may have been.
  void check(const Queue& queue) const;

 private:
  std::string device_;
  MemoryHandle memory_;
  mutable std::atomic<bool> expected_{false};
};

}  // namespace tyto::opencl
