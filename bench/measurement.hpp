// SPDX-License-Identifier: MIT
// Measures times for every benchmark: operands in memory like the engine's own, and the best time of several rounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "bench/process_usage.hpp"
#include "devices/cpu/system/memory.hpp"

namespace tyto::bench {

/// Aligned f32 memory that holds a short ramp from `low` up, over and over.
class Floats {
 public:
  explicit Floats(std::int64_t count, float low = 0.01f)
      : bytes_(static_cast<std::size_t>(count) * sizeof(float)),
        memory_(static_cast<float*>(cpu::allocate_memory(bytes_).memory)) {
    for (std::int64_t i = 0; i < count; ++i) memory_[i] = static_cast<float>(i % 1000) * 0.001f + low;
  }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  ~Floats() { cpu::release_memory(memory_, bytes_); }
  float* data() const { return memory_; }

 private:
  std::size_t bytes_;
  float* memory_;
};

/// Seconds on the clock: the calling thread's processor time where it works alone, since other load disturbs that
/// least, else time as it passes.
inline double seconds_now(int threads) { return threads == 1 ? thread_seconds() : wall_seconds(); }

template <class Work>
double seconds_of(int threads, const Work& work, int calls) {
  const double start = seconds_now(threads);
  for (int call = 0; call < calls; ++call) work();
  return seconds_now(threads) - start;
}

/// Seconds of one call: the fastest of several runs of about 20 ms, since other load can only add time.
template <class Work>
double fastest(int threads, const Work& work) {
  const double once = std::max(seconds_of(threads, work, 1), 1e-9);
  const int calls = static_cast<int>(std::clamp(0.02 / once, 1.0, 100000.0));
  double best = std::numeric_limits<double>::infinity();
  for (int repetition = 0; repetition < 7; ++repetition) {
    best = std::min(best, seconds_of(threads, work, calls) / calls);
  }
  return best;
}

/// Seconds of one call of each body, the fastest of its rounds, which together take about `budget` seconds. Rounds
/// alternate, so that all bodies meet the same machine. Those of several threads last longer: how soon a body has its
/// threads awake after another's round says little of it.
inline std::vector<double> compare(int threads, const std::vector<std::function<void()>>& bodies, double budget) {
  const double shortest_round = threads == 1 ? 2e-4 : 2e-3;
  int calls = 1;
  while (seconds_of(threads, bodies[0], calls) < shortest_round) calls *= 2;
  std::vector<double> best(bodies.size(), std::numeric_limits<double>::infinity());
  double spent = 0;
  for (int round = 0; round < 400 && (round < 5 || spent < budget); ++round) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const double seconds = seconds_of(threads, bodies[i], calls);
      best[i] = std::min(best[i], seconds / calls);
      spent += seconds;
    }
  }
  return best;
}

}  // namespace tyto::bench
