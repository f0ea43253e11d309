// How a device that works by itself says what its work took, by its own clock rather than by the host's.
#pragma once

#include <optional>

namespace tyto::core {

/// Beside core::Device. What other threads have the device do meanwhile is not timed.
class KernelClock {
 public:
  virtual ~KernelClock() = default;
  /// From now on until `stop`, what this thread has the device do is timed.
  virtual void start() = 0;
  /// Waits for the device. Milliseconds from the beginning of the first to the end of the last piece of work since the
  /// clock started or was asked last; nothing when there was none.
  virtual std::optional<double> lap() = 0;
  virtual void stop() = 0;
};

}  // namespace tyto::core
