// SPDX-License-Identifier: MIT
// Signals of the C runtime: Ctrl-C, and those that a process raises itself.
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

bool prints_to_terminal(std::FILE* stream) { return _isatty(_fileno(stream)) != 0; }

int processors_of_thread() {
  GROUP_AFFINITY processors{};
  return GetThreadGroupAffinity(GetCurrentThread(), &processors) == 0 ? 0 : std::popcount(processors.Mask);
}

}  // namespace tyto::core
