// SPDX-License-Identifier: MIT
// Peak memory of a process, and processor time of all its threads.
#pragma once

#include <sys/resource.h>

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

}  // namespace tyto::bench
