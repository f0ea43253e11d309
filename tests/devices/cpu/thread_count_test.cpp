// SPDX-License-Identifier: MIT
// Threads of kernels: exactly as many as were asked for, or as many as the work is worth.
#include "devices/cpu/system/threads.hpp"

#include <doctest/doctest.h>

#include <tyto/error.hpp>

namespace tyto::cpu {

TEST_CASE("the thread count is what was set, and never below one") {
  const int before = threads();
  set_threads(3);
  CHECK(threads() == 3);
  CHECK_THROWS_WITH_AS(set_threads(0), "threads: the count must be from 1 to 1024, got 0", ValueError);
  CHECK(threads() == 3);
  CHECK(threads_for(1000.0) == 1);
  CHECK(threads_for(1e9) == 3);
  set_threads(before);
}

}  // namespace tyto::cpu
