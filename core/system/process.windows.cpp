// SPDX-License-Identifier: MIT
// Signals of the C runtime, which knows Ctrl-C and what a process sends itself.
#include "core/system/process.hpp"

#include <io.h>

#include <bit>
#include <csignal>
#include <cstdio>

#include "core/system/windows.hpp"

namespace tyto::core {

bool handle_signal(int signal, void (*handler)(int)) {
  const auto before = std::signal(signal, handler);
  if (before == SIG_DFL) return true;
  if (before != SIG_ERR) std::signal(signal, before);
  return false;
}

void release_signal(int signal, void (*handler)(int)) {
  const auto now = std::signal(signal, SIG_DFL);
  if (now != handler && now != SIG_DFL && now != SIG_ERR) std::signal(signal, now);
}

bool prints_to_terminal() { return _isatty(_fileno(stdout)) != 0; }

int processors_of_thread() {
  DWORD_PTR ours = 0, all = 0;
  return GetProcessAffinityMask(GetCurrentProcess(), &ours, &all) == 0 ? 0 : std::popcount(ours);
}

}  // namespace tyto::core
