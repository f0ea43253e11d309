// SPDX-License-Identifier: MIT
// The watchdog: a thread that ends the process when it has waited too long for others, and says for which.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace tyto::distributed {

/// How many calls each process of this machine has begun, in memory that all of them see.
struct SharedProgress {
  std::span<std::uint64_t> begun;  // empty where there is no such memory
  std::vector<std::int32_t> ranks;
  std::int32_t own_rank = 0;

  /// The ranks of this machine that have begun fewer calls.
  std::vector<std::int32_t> behind(std::uint64_t calls) const;
  void note(std::uint64_t calls) const;
};

class Watchdog {
 public:
  static constexpr std::int32_t everyone = -1;
  /// Zero seconds: it never ends anything.
  Watchdog(double seconds, SharedProgress progress);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// A call that waits for others begins, in words that stay where they are until it ends. One that waits for a single
  /// process is none of those that all make.
  void begin(const char* call, std::int32_t rank = everyone);
  void end() { waits_.store(false, std::memory_order_release); }

 private:
  using Clock = std::chrono::steady_clock;

  void watch();
  [[noreturn]] void end_process(Clock::duration waited) const;

  double seconds_;
  SharedProgress progress_;
  std::uint64_t calls_ = 0, common_ = 0;
  std::atomic<bool> waits_ = false;
  std::atomic<std::uint64_t> call_number_ = 0, common_number_ = 0;
  std::atomic<std::int32_t> awaited_ = everyone;
  std::atomic<const char*> call_ = "";
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tyto::distributed
