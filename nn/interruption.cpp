// SPDX-License-Identifier: MIT
// The handler of Interruption, which all training of the process shares, since signals are the process's.
#include "nn/interruption.hpp"

#include <signal.h>

#include <array>
#include <atomic>
#include <mutex>

namespace tyto::nn::detail {

namespace {

constexpr std::array watched = {SIGINT, SIGTERM};

// A handler may touch nothing else.
std::atomic<int> came = 0;
static_assert(std::atomic<int>::is_always_lock_free);

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
  if (came.compare_exchange_strong(none, signal)) return;
  // The default ends the process as soon as this handler returns: a signal is blocked while it is handled.
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

bool is(const struct sigaction& action, void (*handler)(int)) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handler;
}

}  // namespace

Interruption::Interruption() {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  // Once a signal came, training that begins after it leaves the next one to end the process: a program that asks for
  // no interruption and trains again and again must not outlive every Ctrl-C.
  listens_ = came == 0;
  if (all.living++ > 0 || !listens_) return;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    struct sigaction before {};
    if (::sigaction(watched[i], nullptr, &before) != 0 || !is(before, SIG_DFL)) continue;
    struct sigaction action {};
    action.sa_handler = note;
    action.sa_flags = SA_RESTART;  // reading and writing go on
    sigemptyset(&action.sa_mask);
    all.ours[i] = ::sigaction(watched[i], &action, nullptr) == 0;
  }
}

Interruption::~Interruption() {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  if (--all.living > 0) return;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    struct sigaction now {};
    // A handler that was installed meanwhile is somebody else's.
    if (all.ours[i] && ::sigaction(watched[i], nullptr, &now) == 0 && is(now, note)) ::signal(watched[i], SIG_DFL);
    all.ours[i] = false;
  }
  if (const int signal = came; listens_ && signal != 0 && !all.answered) {
    all.answered = true;
    ::raise(signal);
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

}  // namespace tyto::nn::detail
