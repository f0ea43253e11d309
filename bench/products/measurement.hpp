// Timing, and the arithmetic peak that timings are compared with.
#pragma once

#include <algorithm>
#include <ctime>
#include <limits>

namespace tyto::bench {

/// Seconds on the clock: the calling thread's processor time where it works alone, since other load disturbs that
/// least, else time as it passes.
inline double seconds_now(int threads) {
  timespec now{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds of one call: the fastest of several runs of about 20 ms, since other load can only add time.
template <class Work>
double fastest(int threads, const Work& work) {
  const double start = seconds_now(threads);
  work();
  const double once = std::max(seconds_now(threads) - start, 1e-9);
  const int calls = static_cast<int>(std::clamp(0.02 / once, 1.0, 100000.0));
  double best = std::numeric_limits<double>::infinity();
  for (int repetition = 0; repetition < 7; ++repetition) {
    const double from = seconds_now(threads);
    for (int call = 0; call < calls; ++call) work();
    best = std::min(best, (seconds_now(threads) - from) / calls);
  }
  return best;
}

/// Multiply-add operations a second, both counted, that `threads` threads reach in registers alone.
double fma_peak(int threads);

}  // namespace tyto::bench
