// SPDX-License-Identifier: MIT
// libgomp has idle threads spin for milliseconds, unless it manages more threads than there are processors: then for
// about a microsecond (its manual says so at GOMP_SPINCOUNT). It has no call for either; the number can be raised.
#include "devices/cpu/system/spinning.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <latch>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "devices/cpu/system/forked_process.hpp"

namespace tyto::cpu {

namespace {

using std::chrono::milliseconds;

constexpr auto window = milliseconds(20);
constexpr auto longest_window = milliseconds(500);  // beyond it, what was counted says nothing of now
constexpr auto patience = milliseconds(2000);       // without a sign, until threads may spin again
constexpr auto memory = milliseconds(200);          // after which what was counted weighs a third

constexpr double least_known = 0.15;  // seconds; a few windows alone prove nothing

// Shares of a thread's time that it waits for a processor. A thread without competition waits for a hundredth, a few
// hundredths where small programs wake up all the time; beside one that computes it is a third and more.
constexpr double contended_share = 0.15, calm_share = 0.05;

int team_size() noexcept {
#if defined(_OPENMP)
  return omp_get_num_procs() + 1;
#else
  return 1;
#endif
}

/// Throws std::system_error unless so many threads can live at the same time.
void check_granted(int count) {
  std::latch all_asked(1);
  std::vector<std::thread> threads;
  const auto end = [&] {
    all_asked.count_down();
    for (std::thread& thread : threads) thread.join();
  };
  try {
    threads.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) threads.emplace_back([&] { all_asked.wait(); });
  } catch (...) {
    end();
    throw;
  }
  end();
}

bool environment_decides() noexcept {
  return std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr;
}

/// The state of a process.
struct Process {
  Contention contention;
  IdleTeam team;
};

// Lives as long as the process: its thread may still wait when everything else is gone. A child has one of its own,
// since it does not have the thread.
Process& process() {
  static Process* own = new Process;
#if defined(__unix__) || defined(__APPLE__)
  static pid_t owner = getpid();
  if (const pid_t self = getpid(); owner != self) {
    owner = self;
    own = new Process;
  }
#endif
  return *own;
}

}  // namespace

Contention::Usage Contention::Usage::of_this_thread() noexcept {
#if defined(__linux__)
  if (std::FILE* const file = std::fopen("/proc/thread-self/schedstat", "re")) {
    double ran = 0, waited = 0;
    const bool read = std::fscanf(file, "%lf %lf", &ran, &waited) == 2;
    std::fclose(file);
    if (read) return {1e-9 * ran, 1e-9 * waited};
  }
#endif
  return {};
}

bool Contention::look(Time now, const Usage& spent) noexcept {
  const double fading = std::exp(-std::chrono::duration<double>(now - looked_) / memory);
  looked_ = now;
  recent_ = {recent_.ran * fading + spent.ran, recent_.waited * fading + spent.waited};
  const double share = recent_.waited / std::max(recent_.ran + recent_.waited, least_known);
  if (share > contended_share) {
    last_sign_ = now;
    contended_ = true;
  } else if (share < calm_share && now - last_sign_ > patience) {
    contended_ = false;
  }
  return contended_;
}

void IdleTeam::hold() {
  if (held() || refused_) return;
  refused_ = true;
  // libgomp ends the process where the system grants it no thread: so many are created, and ended, beforehand.
  check_granted(team_size());
  refused_ = false;
  wanted_ = true;
  holder_ = std::thread([this] { serve(); });
}

void IdleTeam::release() {
  if (!held()) return;
  {
    const std::lock_guard lock(mutex_);
    wanted_ = false;
  }
  changed_.notify_all();
  holder_.join();  // OpenMP ends its team with it
}

void IdleTeam::serve() {
#if defined(_OPENMP)
#pragma omp parallel num_threads(team_size())
  {
#pragma omp barrier  // compilers leave out a region without anything
  }
#endif
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !wanted_; });
}

bool is_libgomp() noexcept {
#if defined(_OPENMP) && !defined(KMP_VERSION_MAJOR)
  return true;
#else
  return false;
#endif
}

void adapt_spinning(Contention::Time now) noexcept {
  static const bool decided = !is_libgomp() || environment_decides();
  static std::atomic<std::chrono::steady_clock::rep> next_look{0};
  static std::atomic_flag busy;
  if (decided || now.time_since_epoch().count() < next_look.load(std::memory_order_relaxed)) return;
  if (has_lost_threads() || busy.test_and_set(std::memory_order_acquire)) return;
  thread_local Contention::Time looked;
  thread_local Contention::Usage before;
  const Contention::Usage usage = Contention::Usage::of_this_thread();
  Contention::Usage spent;
  if (now - looked <= longest_window) spent = {usage.ran - before.ran, usage.waited - before.waited};
  looked = now;
  before = usage;
  try {
    Process& own = process();
    if (own.contention.look(now, spent)) {
      own.team.hold();
    } else {
      own.team.release();
    }
  } catch (const std::exception&) {
    // No memory or no thread for it: threads go on spinning.
  }
  next_look.store((now + window).time_since_epoch().count(), std::memory_order_relaxed);
  busy.clear(std::memory_order_release);
}

}  // namespace tyto::cpu
