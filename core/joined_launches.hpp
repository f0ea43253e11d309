// How a device says that steps are better launched at once: because each launch is a cost of its own, or because what
// one step stores the next one reads while it is near.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/device.hpp"

namespace tyto::core {

/// A step as each run launches it.
struct LaunchedStep {
  const Kernel* kernel = nullptr;  // null where the step is not part of every run, and stays a launch of its own
  /// The buffer of each input, of each output and of the workspace. Equal numbers stand for one buffer in every run.
  std::vector<std::uint32_t> buffers;
};

/// What a step is given in a run.
struct StepAddresses {
  std::span<const Address> inputs, outputs;
  Address workspace;
};

/// Steps that are launched at once. Not to be launched by two threads at a time.
class JoinedKernel {
 public:
  virtual ~JoinedKernel() = default;
  /// The addresses of all of its steps. The bits are those of the steps launched one after the other.
  virtual void launch(std::span<const StepAddresses> steps) = 0;
};

/// The steps [first, past) as one launch.
struct JoinedSteps {
  std::size_t first = 0, past = 0;
  std::shared_ptr<JoinedKernel> kernel;
};

/// Beside core::Device.
class JoinedLaunches {
 public:
  virtual ~JoinedLaunches() = default;
  /// Whether a step with this kernel may begin what is launched together. Where none does, nobody need ask.
  virtual bool may_join(const Kernel& kernel) const = 0;
  /// How many launches one after the other cost as much as it may take to join them.
  virtual std::size_t launches_before_joining() const = 0;
  /// Those of the steps, which are all that a run launches in their order, that are better launched together. May
  /// compile.
  virtual std::vector<JoinedSteps> join(std::span<const LaunchedStep> steps) = 0;
};

}  // namespace tyto::core
