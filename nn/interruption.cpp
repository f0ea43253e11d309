// SPDX-License-Identifier: MIT
// The handler of Interruption, which all training of the process shares, since signals are the process's.
#include "nn/interruption.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <mutex>

#include "core/system/process.hpp"

namespace tyto::nn::detail {

namespace {

constexpr std::array watched = {SIGINT, SIGTERM};

constexpr std::chrono::milliseconds between_repeats{500}, between_processes{5000};

// A handler may touch nothing else.
std::atomic<int> came = 0;
std::atomic<std::int64_t> repeats_until = 0;  // `came` may come again, in nanoseconds of steady_clock; 0: not set yet
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t nanoseconds_from_now(std::chrono::nanoseconds later = {}) {
  return (std::chrono::steady_clock::now().time_since_epoch() + later) / std::chrono::nanoseconds(1);
}

struct Shared {
  std::mutex mutex;
  int living = 0;
  bool answered = false;
  bool from_other_process = false;
  std::array<bool, watched.size()> ours = {};
};

Shared& shared() {
  static Shared one;
  return one;
}

void note(int signal) {
  int none = 0;
  if (came.compare_exchange_strong(none, signal)) {
    repeats_until = nanoseconds_from_now(between_repeats);
    return;
  }
  if (const std::int64_t until = repeats_until; signal == came && (until == 0 || nanoseconds_from_now() < until)) {
    if (until != 0) repeats_until = std::min(until, nanoseconds_from_now(between_repeats));
    return;
  }
  // The default ends the process as soon as this handler returns: a signal is blocked while it is handled.
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

Interruption::Interruption() {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  // Once a signal came, training that begins after it leaves the next one to end the process: a program that asks for
  // no interruption and trains again and again must not outlive every Ctrl-C.
  listens_ = came == 0;
  if (all.living++ > 0 || !listens_) return;
  for (std::size_t i = 0; i < watched.size(); ++i) all.ours[i] = core::handle_signal(watched[i], note);
}

Interruption::~Interruption() {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  if (--all.living > 0) return;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    // A signal that may still come here as well keeps its handler, which then does what the default does.
    const bool may_come = all.from_other_process && watched[i] == came;
    if (all.ours[i] && !may_come) core::release_signal(watched[i], note);
    all.ours[i] = false;
  }
  if (const int signal = came; listens_ && signal != 0 && !all.answered) {
    all.answered = true;
    std::raise(signal);
  }
}

int Interruption::signal() const {
  const int signal = came;
  if (!listens_ || signal == 0) return 0;
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  all.answered = true;
  return signal;
}

void Interruption::note_signal_of_other_process(int signal) const {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  all.answered = true;
  int none = 0;
  if (!came.compare_exchange_strong(none, signal)) return;
  all.from_other_process = true;
  repeats_until = nanoseconds_from_now(between_processes);
}

}  // namespace tyto::nn::detail
