// SPDX-License-Identifier: MIT
// Limits of what a thread allocates: a chain of scopes, empty for nearly all threads.
#include "core/device/allocation_limit.hpp"

#include <algorithm>

#include "core/device/device.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

namespace {
thread_local constinit AllocationLimit* innermost_limit = nullptr;
}

AllocationRefused::AllocationRefused(std::size_t asked_for, std::size_t taken, std::size_t most)
    : DeviceError(text("needs ", asked_for, " bytes where ", taken, " of at most ", most, " are taken")),
      asked(asked_for),
      held(taken),
      limit(most) {}

AllocationLimit::AllocationLimit(std::size_t bytes) : bytes_(bytes), outer_(innermost_limit) { innermost_limit = this; }
AllocationLimit::~AllocationLimit() { innermost_limit = outer_; }

void AllocationLimit::require(const Device& device, std::size_t bytes) {
  for (AllocationLimit* scope = innermost_limit; scope != nullptr; scope = scope->outer_) {
    const std::size_t now = device.allocated();
    auto before = std::ranges::find_if(scope->held_before_, [&](const auto& entry) { return entry.first == &device; });
    if (before == scope->held_before_.end()) before = scope->held_before_.insert(before, {&device, now});
    // Memory allocated before the scope may have been freed since.
    before->second = std::min(before->second, now);
    const std::size_t held = now - before->second;
    if (held > scope->bytes_ || bytes > scope->bytes_ - held) throw AllocationRefused(bytes, held, scope->bytes_);
  }
}

void AllocationLimit::require(std::size_t bytes) {
  for (const AllocationLimit* scope = innermost_limit; scope != nullptr; scope = scope->outer_) {
    if (bytes > scope->bytes_) throw AllocationRefused(bytes, 0, scope->bytes_);
  }
}

}  // namespace tyto::core
