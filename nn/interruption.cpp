// SPDX-License-Identifier: MIT
// The handler of Interruption, which all training of the process shares, since signals are the process's.
#include "nn/interruption.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>

#include "core/system/process.hpp"

namespace tyto::nn::detail {

namespace {

constexpr std::array watched = {SIGINT, SIGTERM};

// A handler may touch nothing else.
std::atomic<int> came = 0;
std::atomic<bool> comes_again = false;  // what came elsewhere
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

struct Shared {
  std::mutex mutex;
  int living = 0;
  bool answered = false;
  std::array<bool, watched.size()> ours = {};
};

Shared& shared() {
  static Shared one;
  return one;
}

void note(int signal) {
  int none = 0;
  if (came.compare_exchange_strong(none, signal) || comes_again.exchange(false)) return;
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
    if (all.ours[i] && !comes_again) core::release_signal(watched[i], note);
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

void Interruption::came_elsewhere(int signal) const {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  all.answered = true;
  comes_again = true;
  int none = 0;
  if (!came.compare_exchange_strong(none, signal)) comes_again = false;
}

}  // namespace tyto::nn::detail
