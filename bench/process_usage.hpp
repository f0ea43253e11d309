// SPDX-License-Identifier: MIT
// Peak memory of a process, processor time of it and of a thread, and time as it passes.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <ctime>

namespace tyto::bench {

inline rusage process_usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

inline double peak_bytes() { return static_cast<double>(process_usage().ru_maxrss) * 1024; }

inline double processor_seconds() {
  const rusage usage = process_usage();
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Processor time of the calling thread: what other programs take is not counted.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace tyto::bench
