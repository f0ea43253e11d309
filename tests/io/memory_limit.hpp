// SPDX-License-Identifier: MIT
// Limits the memory of the test program, for tests of allocations that fail.
#pragma once

// Sanitizers take terabytes of addresses for themselves; Windows limits no addresses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(_WIN32)
#define TYTO_TEST_MEMORY_LIMIT 0
#else
#define TYTO_TEST_MEMORY_LIMIT 1

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace tyto::io_tests {

/// While alive, this process has no more addresses than now and `more` bytes.
class MemoryLimit {
 public:
  explicit MemoryLimit(rlim_t more) {
    getrlimit(RLIMIT_AS, &before_);
    std::ifstream pages("/proc/self/statm");
    rlim_t used = 0;
    pages >> used;
    const rlimit tight{used * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more, before_.rlim_max};
    setrlimit(RLIMIT_AS, &tight);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace tyto::io_tests

#endif
