// SPDX-License-Identifier: MIT
// The process-wide thread count, and parallel regions. OpenMP is named here and where oneDNN is called, nowhere else:
// what includes the header may be compiled without it.
#include "devices/cpu/system/threads.hpp"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include <tyto/error.hpp>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "core/value/text.hpp"
#include "devices/cpu/system/awake_threads.hpp"
#include "devices/cpu/system/forked_process.hpp"
#include "devices/cpu/system/layout_threads.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/spinning.hpp"
#include "devices/cpu/system/subnormals.hpp"
#include "devices/cpu/system/thread_limit.hpp"

namespace tyto::cpu {

namespace {

thread_local constinit bool on_one_thread = false;
thread_local constinit int most_here = INT_MAX;

// More are a mistake, and the run-time of OpenMP ends the process when the system refuses it threads.
constexpr int most_threads = 1024;

int read_initial_threads() noexcept {
  // A value that is no such number is refused when the device is first used.
  if (const char* wish = std::getenv("TYTO_THREADS")) {
    char* end = nullptr;
    const long count = std::strtol(wish, &end, 10);
    if (*end == '\0' && count >= 1 && count <= most_threads) return granted_threads(static_cast<int>(count));
  }
#if defined(_OPENMP)
  return granted_threads(std::max(1, omp_get_max_threads()));
#else
  return 1;
#endif
}

std::atomic<int>& thread_count() noexcept {
  static std::atomic<int> count{read_initial_threads()};
  return count;
}

/// Which thread's helpers last took on rules of arithmetic, and which; 0 while nobody has had other ones than at the
/// start. One for all callers: when they alternate, rules are set once more than necessary.
std::atomic<std::uint64_t> shared_rules{0};

std::uint64_t own_rules() noexcept {
  constexpr int bits_of_rules = 16;
  const auto caller = reinterpret_cast<std::uintptr_t>(&errno);  // of each thread its own
  return static_cast<std::uint64_t>(caller) << bits_of_rules | arithmetic_rules();
}

void note_shared_rules() noexcept {
  const std::uint64_t last = shared_rules.load(std::memory_order_relaxed);
  if (last == 0 && arithmetic_rules() == usual_arithmetic_rules()) return;
  if (const std::uint64_t own = own_rules(); own != last) shared_rules.store(own, std::memory_order_relaxed);
}

int threads_worth_waking(int most, double nanoseconds) noexcept {
  return nanoseconds < machine::worth_waking(most) ? 1 : most;
}

}  // namespace

int granted_threads(int count) noexcept {
#if defined(_OPENMP)
  return std::min(count, omp_get_thread_limit());
#else
  return std::min(count, 1);
#endif
}

int threads() noexcept {
  return on_one_thread ? 1 : std::min(most_here, thread_count().load(std::memory_order_relaxed));
}

int exchange_thread_limit(int most) noexcept { return std::exchange(most_here, most); }

OneThread::OneThread() noexcept { on_one_thread = true; }
OneThread::~OneThread() { on_one_thread = false; }

void set_threads(int count) {
  if (count < 1 || count > most_threads) {
    core::throw_error<ValueError>("threads: the count must be from 1 to ", most_threads, ", got ", count);
  }
  thread_count().store(granted_threads(count), std::memory_order_relaxed);
}

int threads_for(double nanoseconds) noexcept { return threads_worth_waking(threads(), nanoseconds); }

TeamRequest team_for(double nanoseconds) noexcept {
  const int all = threads();
  if (nanoseconds < machine::worth_meeting(all)) return {};
  return {all, nanoseconds < machine::worth_waking(all), nanoseconds};
}

int layout_threads_for(double nanoseconds) noexcept {
  static const int count = thread_count().load(std::memory_order_relaxed);
  return threads_worth_waking(count, nanoseconds);
}

void Team::barrier() const noexcept {
#if defined(_OPENMP)
  if (size > 1) {
#pragma omp barrier
  }
#endif
}

void share_arithmetic_rules([[maybe_unused]] int count) {
  if (count <= 1) return;
  const std::uint64_t last = shared_rules.load(std::memory_order_relaxed);
  const bool usual = last == 0 && arithmetic_rules() == usual_arithmetic_rules();
  if (!usual && last != own_rules()) run_team(count, [](Team) {});
}

void run_region([[maybe_unused]] TeamRequest request, void (*body)(const void* context, Team member),
                const void* context) {
  request.count = std::min(request.count, most_here);
  if (request.count <= 1) return body(context, Team{});
#if defined(_OPENMP)
  if (has_lost_threads()) return with_threads([&] { run_region(request, body, context); });
  watch_for_forks();
  AwakeThreads& own = awake_threads();
  const auto alone = std::chrono::nanoseconds(static_cast<std::int64_t>(request.nanoseconds));
  AwakeThreads::Time began;
  if (request.only_if_awake) began = AwakeThreads::Clock::now();
  if (!request.only_if_awake || own.take_short_step(began)) {
    const std::uint64_t rules = arithmetic_rules();
#pragma omp parallel num_threads(request.count)
    {
      set_arithmetic_rules(rules);
      body(context, Team{omp_get_thread_num(), omp_get_num_threads()});
    }
    note_shared_rules();
    const AwakeThreads::Time ended = AwakeThreads::Clock::now();
    if (request.only_if_awake) {
      own.short_step_done(began, ended, alone);
    } else {
      own.region_done(ended);
    }
    adapt_spinning(ended);
    return;
  }
  body(context, Team{});
  own.short_step_done_alone(began, AwakeThreads::Clock::now());
#else
  body(context, Team{});
#endif
}

}  // namespace tyto::cpu
