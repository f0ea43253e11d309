// How long OpenMP's idle threads spin when other programs want the processors (ADR 11).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace tyto::cpu {

/// Judges from what the system counts whether other programs want the processors that this one uses.
class Contention {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// What the system has counted since the process began.
  struct Usage {
    std::int64_t interruptions = 0;  ///< how often a thread that wanted to go on lost its processor
    double seconds = 0;              ///< of processor time

    static Usage now() noexcept;
  };

  /// Whether there is contention, by what was counted since the last look; stays so for a while after the last sign.
  bool look(Time now, Usage usage) noexcept;

 private:
  Time looked_{}, last_sign_{};
  Usage usage_;
  bool contended_ = false;
};

/// A thread that holds a team of idle threads while asked to, one more than there are processors: OpenMP then counts
/// more threads than processors, and those of every team go to sleep within microseconds.
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

/// A parallel region ended `now`. Looks for contention now and then and while there is any has idle threads sleep soon.
/// Leaves the choice to the environment where OMP_WAIT_POLICY or GOMP_SPINCOUNT is set.
void adapt_spinning(Contention::Time now) noexcept;

}  // namespace tyto::cpu
