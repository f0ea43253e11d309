// SPDX-License-Identifier: MIT
// Limits how long OpenMP's idle threads spin while other programs want the processors (docs/performance/threads.md).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace tyto::cpu {

/// Judges from how long threads wait for a processor whether other programs want those that this one uses.
class Contention {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Seconds that the system has counted of a thread since it began.
  struct Usage {
    double ran = 0;
    double waited = 0;  ///< for a processor, though it could have gone on

    static Usage of_this_thread() noexcept;
  };

  /// Whether there is contention, by what a thread spent since it looked last; stays so for a while after the last
  /// sign.
  bool look(Time now, const Usage& spent) noexcept;

 private:
  Time looked_{}, last_sign_{};
  Usage recent_;  // sums that fade
  bool contended_ = false;
};

/// A thread that holds a team of idle threads while asked to, one more than there are processors: OpenMP then counts
/// more threads than processors, and those of every team go to sleep within microseconds where it is libgomp.
class IdleTeam {
 public:
  IdleTeam() = default;
  IdleTeam(const IdleTeam&) = delete;
  IdleTeam& operator=(const IdleTeam&) = delete;
  ~IdleTeam() { release(); }

  /// Throws std::system_error if the system does not grant so many threads, and then does nothing when asked again.
  void hold();
  void release();
  bool held() const noexcept { return holder_.joinable(); }

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;
  bool refused_ = false;
  std::thread holder_;
};

/// Whether OpenMP is libgomp. LLVM's threads spin no less when there are more of them, and a team's do not end with it.
bool is_libgomp() noexcept;

/// A parallel region ended `now`. Looks for contention now and then and while there is any has idle threads sleep soon.
/// Leaves the choice to the environment where OMP_WAIT_POLICY or GOMP_SPINCOUNT is set, and to any OpenMP but libgomp.
void adapt_spinning(Contention::Time now) noexcept;

}  // namespace tyto::cpu
