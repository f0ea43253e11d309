// SPDX-License-Identifier: MIT
// Watches waiting calls from a thread of its own, since a call of MPI that waits does not return.
#include "distributed/watchdog.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/value/text.hpp"
#include "distributed/transport.hpp"

namespace tyto::distributed {

namespace {

/// EX_TEMPFAIL of sysexits.h: another run may succeed.
constexpr int gave_up = 75;

std::string listed(const std::vector<std::int32_t>& ranks) {
  if (ranks.empty()) return "another process";
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) out += core::text(i == 0 ? "" : ", ", ranks[i]);
  return out;
}

}  // namespace

std::vector<std::int32_t> SharedProgress::behind(std::uint64_t calls) const {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < begun.size(); ++i) {
    if (__atomic_load_n(&begun[i], __ATOMIC_ACQUIRE) < calls) out.push_back(ranks[i]);
  }
  return out;
}

void SharedProgress::note(std::uint64_t calls) const {
  for (std::size_t i = 0; i < begun.size(); ++i) {
    if (ranks[i] == own_rank) __atomic_store_n(&begun[i], calls, __ATOMIC_RELEASE);
  }
}

Watchdog::Watchdog(double seconds, SharedProgress progress) : seconds_(seconds), progress_(std::move(progress)) {
  if (seconds_ > 0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void Watchdog::begin(const char* call, std::int32_t rank) {
  ++calls_;
  if (rank == everyone) progress_.note(++common_);
  call_number_.store(calls_, std::memory_order_relaxed);
  common_number_.store(common_, std::memory_order_relaxed);
  awaited_.store(rank, std::memory_order_relaxed);
  call_.store(call, std::memory_order_relaxed);
  waits_.store(true, std::memory_order_release);
}

void Watchdog::watch() {
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_));
  const auto pause = std::min<Clock::duration>(limit / 4, std::chrono::seconds(1));
  std::uint64_t watched = 0;  // the number of the call that has waited for so long
  Clock::duration waited{};
  Clock::time_point seen = Clock::now();
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, pause, [this] { return ends_; })) {
    // Longer pauses are those of a process that was stopped, with the others perhaps, by Ctrl-Z.
    const Clock::time_point now = Clock::now();
    const Clock::duration passed = std::min<Clock::duration>(now - std::exchange(seen, now), 2 * pause);
    if (!waits_.load(std::memory_order_acquire)) continue;
    const std::uint64_t number = call_number_.load(std::memory_order_relaxed);
    waited = std::exchange(watched, number) == number ? waited + passed : Clock::duration();
    if (waited > limit) end_process(waited);
  }
}

void Watchdog::end_process(Clock::duration waited) const {
  const std::uint64_t number = common_number_.load();
  const std::int32_t awaited = awaited_.load();
  const std::vector<std::int32_t> missing = awaited == everyone ? progress_.behind(number) : std::vector{awaited};
  const std::string message =
      core::text("tyto: rank ", progress_.own_rank, " has waited ",
                 std::chrono::duration_cast<std::chrono::seconds>(waited).count(), " s in ", call_.load(),
                 awaited == everyone ? core::text(" (call ", number, ")") : "", " for ", listed(missing),
                 missing.size() > 1 ? ", which have" : ", which has", " not come to that call; all processes end\n");
  std::fputs(message.c_str(), stderr);
  std::fflush(stderr);
  note_failure(gave_up);
  std::_Exit(gave_up);
}

}  // namespace tyto::distributed
