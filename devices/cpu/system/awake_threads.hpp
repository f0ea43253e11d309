// SPDX-License-Identifier: MIT
// Estimates whether a thread's helpers still spin or sleep, since waking them costs more than a short step saves.
#pragma once

#include <chrono>

namespace tyto::cpu {

/// The state of a calling thread's helpers. After a region they spin for a while, and one that spins takes up work
/// within a microsecond; then they sleep, and take 30 to 100 us to wake. OpenMP does not say which, and how long they
/// spin is the environment's choice.
class AwakeThreads {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  /// Whether a short step that begins now is to be shared: while the helpers are awake, or to wake them when short
  /// steps follow one another closely enough for that to pay.
  bool take_short_step(Time now) noexcept;

  /// A short step was shared, which one thread would have finished in about `alone`.
  void short_step_done(Time began, Time ended, Clock::duration alone) noexcept;
  /// A short step was not shared.
  void short_step_done_alone(Time began, Time ended) noexcept;
  /// A region of any other kind is over.
  void region_done(Time ended) noexcept { last_region_ = ended; }

 private:
  /// Short steps that are not shared after helpers came late, at first.
  static constexpr int first_distrust = 16;

  void leave_alone() noexcept;

  Time last_region_{}, last_alone_{};
  Clock::duration alone_in_a_row_{};  // what short steps took that followed one another
  bool waking_ = false;               // the last region was there to wake them
  int late_in_a_row_ = 0;             // shared steps that took longer than one thread would have
  int trusted_again_in_ = 0;          // short steps from now
  int next_distrust_ = first_distrust;
};

/// The calling thread's.
AwakeThreads& awake_threads() noexcept;

}  // namespace tyto::cpu
