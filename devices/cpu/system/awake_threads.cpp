// SPDX-License-Identifier: MIT
// Decides by the time since the last region whether helper threads still spin.
#include "devices/cpu/system/awake_threads.hpp"

#include <algorithm>

namespace tyto::cpu {

namespace {

using std::chrono::microseconds;

// So long after a region its threads can be counted on. `./dev` has them spin for about 100 us, libgomp for some
// milliseconds, but the longer they do, the more often a hypervisor has taken their processor meanwhile.
constexpr auto spinning = microseconds(25);

// One helper saves half of what steps take alone: of so much, about what it costs to wake it.
constexpr auto worth_waking = microseconds(160);

constexpr int longest_distrust = 65536;

}  // namespace

bool AwakeThreads::take_short_step(Time now) noexcept {
  if (trusted_again_in_ > 0) {
    --trusted_again_in_;
    return false;
  }
  if (now - last_region_ < spinning) return true;
  if (waking_) leave_alone();  // what they were woken for did not come
  if (now - last_alone_ >= spinning) alone_in_a_row_ = {};
  waking_ = trusted_again_in_ == 0 && alone_in_a_row_ >= worth_waking;
  return waking_;
}

void AwakeThreads::short_step_done_alone(Time began, Time ended) noexcept {
  if (trusted_again_in_ > 0) return;
  last_alone_ = ended;
  alone_in_a_row_ += ended - began;
}

void AwakeThreads::short_step_done(Time began, Time ended, Clock::duration alone) noexcept {
  const bool asleep = began - last_region_ >= spinning;
  last_region_ = ended;
  if (asleep) return;  // it was to wake them
  waking_ = false;
  // A single late region proves nothing. After two in a row the helpers sleep, or other programs have their processors.
  if (ended - began < alone + alone / 2) {
    late_in_a_row_ = 0;
    next_distrust_ = std::max(next_distrust_ / 2, first_distrust);
  } else if (++late_in_a_row_ == 2) {
    leave_alone();
  }
}

void AwakeThreads::leave_alone() noexcept {
  waking_ = false;
  late_in_a_row_ = 0;
  alone_in_a_row_ = {};
  trusted_again_in_ = next_distrust_;
  next_distrust_ = std::min(2 * next_distrust_, longest_distrust);
}

AwakeThreads& awake_threads() noexcept {
  thread_local AwakeThreads own;
  return own;
}

}  // namespace tyto::cpu
