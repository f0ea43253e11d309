// SPDX-License-Identifier: MIT
// A prepared step: compiled kernels with everything but memory already set, enqueued in order at each launch.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device.hpp"
#include "devices/opencl/runtime/api.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

class EnqueuedKernel final : public core::Kernel {
 public:
  /// `programs` holds the compiled program and the kernel's name in it for each launch of the plan.
  struct Compiled {
    cl_program program;
    std::string name;
  };
  EnqueuedKernel(const Context& context, const LaunchPlan& plan, const std::vector<Compiled>& programs);

  std::size_t workspace() const override { return workspace_; }
  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address workspace) const override;

 private:
  struct Memory {
    cl_uint position;  // of the buffer among the kernel's arguments; its offset follows
    MemoryArgument argument;
  };
  /// One launch.
  struct Stage {
    KernelHandle kernel;
    std::vector<MemoryHandle> tables;
    std::vector<Memory> memory;
    std::array<std::size_t, 3> global;
    std::array<std::size_t, 3> local;
    std::optional<InPlace> unless;
    bool may_fault;
  };

  std::string what_;
  const Context& context_;
  std::size_t workspace_;
  std::vector<Stage> stages_;
  // OpenCL keeps arguments in the kernel object, so setting them and enqueueing must not interleave between threads.
  mutable std::mutex mutex_;
};

}  // namespace tyto::opencl
