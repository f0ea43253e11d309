// Whether helpers are awake.
#include "devices/cpu/helpers.hpp"

#include <algorithm>

namespace tyto::cpu {

namespace {

using std::chrono::microseconds;

// `./dev` has threads spin for about 100 us, libgomp for some milliseconds.
constexpr auto spinning = microseconds(60);

// Waking helpers costs about as much as so many short steps save. Steps further apart than this are not in a row.
constexpr int steps_worth_waking = 16;
constexpr auto in_a_row = microseconds(200);

// A short step takes longer than this only when it had to wait for a helper that slept, or whose processor something
// else had taken.
constexpr auto late = microseconds(35);
constexpr int first_distrust = 256, longest_distrust = 65536;

}  // namespace

bool Helpers::take_short_step(Clock::time_point now) noexcept {
  waking_ = false;
  if (trusted_again_in_ > 0) {
    --trusted_again_in_;
    return false;
  }
  if (now - last_region_ < spinning) return true;
  alone_ = now - last_alone_ < in_a_row ? alone_ + 1 : 1;
  last_alone_ = now;
  waking_ = alone_ > steps_worth_waking;
  if (waking_) alone_ = 0;
  return waking_;
}

void Helpers::step_done(Clock::time_point began, Clock::time_point ended, bool was_short) noexcept {
  last_region_ = ended;
  if (!was_short || waking_) return;
  if (ended - began < late) {
    next_distrust_ = first_distrust;
    return;
  }
  trusted_again_in_ = std::max(next_distrust_, first_distrust);
  next_distrust_ = std::min(2 * trusted_again_in_, longest_distrust);
}

Helpers& helpers() noexcept {
  thread_local Helpers own;
  return own;
}

}  // namespace tyto::cpu
