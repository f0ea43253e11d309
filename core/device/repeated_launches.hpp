// How a kernel that a loop launches again and again says that it does so by itself, in less time than launches take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/value/storage.hpp"

namespace tyto::core {

/// Launches one after the other, each with operands that lie so many bytes after those of the one before.
struct Repetition {
  std::int64_t launches = 1;
  std::span<const std::ptrdiff_t> strides;  // of the inputs, then of the outputs
  /// In the host's memory: a launch that leaves a zero there is the last one. Null where all are wanted.
  const std::byte* goes_on = nullptr;
};

/// Beside core::Kernel.
class RepeatedLaunches {
 public:
  virtual ~RepeatedLaunches() = default;
  /// Whether it looks at Repetition::goes_on.
  virtual bool can_stop() const = 0;
  /// Launches at least once, and returns how often. `operands` are the addresses of the inputs and then of the outputs
  /// for the first launch. The bits are those of as many launches.
  virtual std::int64_t repeat(std::span<const Address> operands, const Repetition& repetition) const = 0;
};

}  // namespace tyto::core
