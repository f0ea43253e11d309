// How a device says that steps are better launched at once: what one step stores the next one reads while it is near.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/device/device.hpp"

namespace tyto::core {

/// What a step is given in a run.
struct StepAddresses {
  std::span<const Address> inputs, outputs;
  Address workspace;
};

/// Steps that are launched at once.
class JoinedKernel {
 public:
  virtual ~JoinedKernel() = default;
  /// The addresses of all of its steps. The bits are those of the steps launched one after the other.
  virtual void launch(std::span<const StepAddresses> steps) const = 0;
};

/// The steps [first, past) as one launch.
struct JoinedSteps {
  std::size_t first = 0, past = 0;
  std::shared_ptr<const JoinedKernel> kernel;
};

/// Beside core::Device.
class JoinedLaunches {
 public:
  virtual ~JoinedLaunches() = default;
  /// Those of the steps, whose kernels are given in the order of their launches, that are better launched together. A
  /// step without a kernel is not part of every run, and stays a launch of its own. May compile; the kernels must
  /// outlive the result.
  virtual std::vector<JoinedSteps> join(std::span<const Kernel* const> steps) = 0;
};

}  // namespace tyto::core
