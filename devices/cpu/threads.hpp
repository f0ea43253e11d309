// How many threads a heavy step uses, and the one way in which kernels use them.
#pragma once

#include <algorithm>
#include <cstdint>

#if defined(_OPENMP)
#include <omp.h>

#include "devices/cpu/awake_threads.hpp"
#include "devices/cpu/forked_process.hpp"
#endif

namespace tyto::cpu {

/// Threads that kernels prepared from now on may use: set_threads, else TYTO_THREADS, else what OpenMP offers.
int threads() noexcept;

/// Sets threads() for the whole process; throws ValueError unless count is positive.
void set_threads(int count);

/// Threads worth waking for work that one thread finishes in so many nanoseconds. Waking sleeping threads costs up to
/// 100 us: below 20 us of work, and 2 us for each of many threads, the calling thread stays alone. Else all threads
/// take part, even where fewer would do: OpenMP ends the threads that a smaller team leaves out, and the next larger
/// one begins them anew.
int threads_for(double nanoseconds) noexcept;

/// How many threads run a step.
struct Workers {
  int count = 1;
  bool only_if_awake = false;  ///< the step is too short to wake them
  double nanoseconds = 0;      ///< that one thread would take, roughly
};

/// As threads_for, and for shorter work the threads that happen to be awake.
Workers workers_for(double nanoseconds) noexcept;

/// A half-open range of work items.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const noexcept { return end - begin; }
};

/// The share of `part` when `total` items are dealt to `parts` in runs that are multiples of `grain`.
inline Range share(std::int64_t total, std::int64_t part, std::int64_t parts, std::int64_t grain = 1) noexcept {
  const std::int64_t grains = (total + grain - 1) / grain;
  const std::int64_t base = grains / parts, extra = grains % parts;
  const std::int64_t first = part * base + std::min(part, extra);
  const std::int64_t last = first + base + (part < extra ? 1 : 0);
  return {std::min(first * grain, total), std::min(last * grain, total)};
}

/// A member's view of the threads that run one step together.
struct Team {
  int member = 0;
  int size = 1;

  /// Waits for the other members; every member must call it equally often.
  void barrier() const noexcept {
#if defined(_OPENMP)
    if (size > 1) {
#pragma omp barrier
    }
#endif
  }
};

/// Runs body(Team) on at most so many threads in one parallel region, or on the calling thread where a short step finds
/// the others asleep. The system may grant fewer, so the body divides its work by Team::size. The body must not throw.
template <class Body>
void run_team([[maybe_unused]] Workers workers, const Body& body) {
#if defined(_OPENMP)
  if (workers.count > 1 && has_lost_threads()) return with_threads([&] { run_team(workers, body); });
  if (workers.count > 1) {
    watch_for_forks();
    AwakeThreads& own = awake_threads();
    AwakeThreads::Time began;
    if (workers.only_if_awake) began = AwakeThreads::Clock::now();
    if (!workers.only_if_awake || own.take_short_step(began)) {
#pragma omp parallel num_threads(workers.count)
      body(Team{omp_get_thread_num(), omp_get_num_threads()});
      const AwakeThreads::Time ended = AwakeThreads::Clock::now();
      if (workers.only_if_awake) {
        own.short_step_done(began, ended, std::chrono::nanoseconds(static_cast<std::int64_t>(workers.nanoseconds)));
      } else {
        own.region_done(ended);
      }
      return;
    }
  }
#endif
  body(Team{});
}

template <class Body>
void run_team(int wanted, const Body& body) {
  run_team(Workers{wanted}, body);
}

}  // namespace tyto::cpu
