// When short steps are shared with the threads that help, on a clock of the test's own.
#include "devices/cpu/helpers.hpp"

#include <doctest/doctest.h>

#include "devices/cpu/threads.hpp"

namespace tyto::cpu {

namespace {

using std::chrono::microseconds;

/// Helpers and the time, of which a test says how it passes.
struct Caller {
  Helpers helpers;
  Helpers::Clock::time_point now{std::chrono::hours(1)};

  void pass(int time) { now += microseconds(time); }

  /// A step that takes so many microseconds. Whether it was shared.
  bool run_short(int duration = 5) {
    const auto began = now;
    const bool shared = helpers.take_short_step(now);
    pass(duration);
    if (shared) helpers.step_done(began, now, true);
    return shared;
  }
  void run_long() {
    const auto began = now;
    pass(100);
    helpers.step_done(began, now, false);
  }
  /// Short steps, one after the other, until one is shared.
  int alone() {
    int count = 0;
    while (!run_short()) ++count;
    return count;
  }
};

}  // namespace

TEST_CASE("a short step is shared right after a region, and not when the helpers have had time to fall asleep") {
  Caller caller;
  CHECK_FALSE(caller.run_short());
  caller.run_long();
  CHECK(caller.run_short());
  caller.pass(50);
  CHECK(caller.run_short());
  caller.pass(1000);
  CHECK_FALSE(caller.run_short());
}

TEST_CASE("short steps in a row wake the helpers, and keep them awake") {
  Caller caller;
  CHECK(caller.alone() == 16);
  for (int step = 0; step < 100; ++step) CHECK(caller.run_short());
}

TEST_CASE("short steps far apart never wake the helpers") {
  Caller caller;
  for (int step = 0; step < 1000; ++step) {
    CHECK_FALSE(caller.run_short());
    caller.pass(1000);
  }
}

TEST_CASE("helpers that come late are left alone for longer and longer, until they come in time") {
  Caller caller;
  caller.run_long();
  CHECK(caller.run_short(50));
  caller.run_long();
  CHECK(caller.alone() == 256 + 16);  // by then they sleep
  CHECK(caller.run_short());          // in time, so that all is forgiven
  CHECK(caller.run_short(50));
  caller.run_long();
  CHECK_FALSE(caller.run_short());
  for (int step = 1; step < 256; ++step) CHECK_FALSE(caller.run_short());
  caller.run_long();
  CHECK(caller.run_short(50));
  for (int step = 0; step < 512; ++step) CHECK_FALSE(caller.run_short());
  caller.run_long();
  CHECK(caller.run_short());
}

TEST_CASE("a step that wakes the helpers may take as long as that takes") {
  Caller caller;
  for (int step = 0; step < 16; ++step) CHECK_FALSE(caller.run_short());
  CHECK(caller.run_short(80));
  CHECK(caller.run_short());
}

TEST_CASE("work is shared by all threads or none, and short work only while they are awake") {
  const int before = threads();
  set_threads(2);
  CHECK(workers_for(1'000).count == 1);
  CHECK(workers_for(5'000).count == 2);
  CHECK(workers_for(5'000).only_if_awake);
  CHECK(workers_for(50'000).count == 2);
  CHECK_FALSE(workers_for(50'000).only_if_awake);
  set_threads(16);
  CHECK(workers_for(19'000).count == 1);
  CHECK(workers_for(21'000).count == 16);
  CHECK(threads_for(19'000) == 1);
  CHECK(threads_for(21'000) == 16);
  set_threads(before);
}

}  // namespace tyto::cpu
