// SPDX-License-Identifier: MIT
// Signals of the C runtime: Ctrl-C, and those that a process raises itself; processors; the ends of threads.
#include "core/system/process.hpp"

#include <cxxabi.h>
#include <io.h>

#include <bit>
#include <csignal>
#include <cstdio>

#include "core/system/windows.hpp"

namespace tyto::core {

#if defined(__GLIBCXX__)
namespace {

// Before version 16 gcc keeps thread-local objects in memory that the destructor of a key of winpthreads frees, and
// runs the objects' destructors by that of another key. A thread that ends calls these in the order in which the keys
// were made; the key of the objects is made here, before anything has asked for the memory.
[[gnu::constructor(101)]] void destroy_objects_before_their_memory() {
  __cxxabiv1::__cxa_thread_atexit(
      +[](void*) {}, nullptr, nullptr);
}

}  // namespace
#endif

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
