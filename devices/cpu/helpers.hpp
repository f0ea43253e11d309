// Judges by the clock whether the threads that help the calling one are awake, so that short steps are shared only
// then.
#pragma once

#include <chrono>

namespace tyto::cpu {

/// What one calling thread knows of its helpers. After a region they spin for a while, and one that spins takes up work
/// within a microsecond; then they sleep, and take 30 to 60 us to wake. OpenMP does not say which, and how long they
/// spin is the environment's choice.
class Helpers {
 public:
  using Clock = std::chrono::steady_clock;

  /// Whether a short step that begins now is to be shared: while the helpers are awake, or to wake them when short
  /// steps follow one another closely enough for that to pay.
  bool take_short_step(Clock::time_point now) noexcept;

  /// A region, of a short step or of any other, is over.
  void step_done(Clock::time_point began, Clock::time_point ended, bool was_short) noexcept;

 private:
  Clock::time_point last_region_{}, last_alone_{};
  int alone_ = 0;             // short steps in a row that did without helpers
  bool waking_ = false;       // the step under way is to wake them
  int trusted_again_in_ = 0;  // short steps from now
  int next_distrust_ = 0;     // short steps for which a late helper is not trusted the next time
};

/// The calling thread's.
Helpers& helpers() noexcept;

}  // namespace tyto::cpu
