// SPDX-License-Identifier: MIT
// Handles signals by sigaction.
#include "core/system/process.hpp"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

namespace tyto::core {

namespace {

bool is(const struct sigaction& action, void (*handler)(int)) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handler;
}

}  // namespace

bool handle_signal(int signal, void (*handler)(int)) {
  struct sigaction before {};
  if (::sigaction(signal, nullptr, &before) != 0 || !is(before, SIG_DFL)) return false;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // reading and writing go on
  sigemptyset(&action.sa_mask);
  return ::sigaction(signal, &action, nullptr) == 0;
}

void release_signal(int signal, void (*handler)(int)) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) == 0 && is(now, handler)) ::signal(signal, SIG_DFL);
}

bool prints_to_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) != 0; }

int processors_of_thread() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return 0;
}

}  // namespace tyto::core
