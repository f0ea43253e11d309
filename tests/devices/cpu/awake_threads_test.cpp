// SPDX-License-Identifier: MIT
// Short steps are shared with helper threads while these are awake, on a simulated clock.
#include "devices/cpu/system/awake_threads.hpp"
#include "core/graph/op_ids.hpp"

#include <tuple>

#include <doctest/doctest.h>

#include "devices/cpu/device/device.hpp"
#include "devices/cpu/system/threads.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace tyto::cpu {

namespace {

using std::chrono::microseconds;

/// A calling thread, and the time, of which a test says how it passes.
struct Caller {
  AwakeThreads helpers;
  AwakeThreads::Time now{std::chrono::hours(1)};

  void pass(int time) { now += microseconds(time); }

  /// A step of so many microseconds alone or when it is shared. Whether it was.
  bool run_short(int shared_time = 6, int alone_time = 10) {
    const AwakeThreads::Time began = now;
    const bool shared = helpers.take_short_step(now);
    pass(shared ? shared_time : alone_time);
    if (shared) helpers.short_step_done(began, now, microseconds(alone_time));
    else helpers.short_step_done_alone(began, now);
    return shared;
  }
  void run_long() {
    pass(100);
    helpers.region_done(now);
  }
  /// Short steps, one after the other, until one is shared.
  int alone(int alone_time = 10) {
    int count = 0;
    while (!run_short(6, alone_time)) ++count;
    return count;
  }
  /// The number of a thousand short steps that run on several threads, with so many microseconds between them.
  int shared_of_thousand(int between, int shared_time = 6) {
    int count = 0;
    for (int step = 0; step < 1000; ++step) {
      count += run_short(shared_time) ? 1 : 0;
      pass(between);
    }
    return count;
  }
};

}  // namespace

TEST_CASE("a short step is shared right after a region, and not when the helpers have had time to fall asleep") {
  Caller caller;
  CHECK_FALSE(caller.run_short());
  caller.run_long();
  CHECK(caller.run_short());
  caller.pass(15);
  CHECK(caller.run_short());
  caller.pass(1000);
  CHECK_FALSE(caller.run_short());
}

TEST_CASE("short steps in a row wake the helpers, and keep them awake") {
  Caller caller;
  CHECK(caller.alone() == 16);
  CHECK(caller.shared_of_thousand(15) == 1000);
}

TEST_CASE("the time that short steps take wakes the helpers, not their number") {
  CHECK(Caller().alone(20) == 8);
  CHECK(Caller().alone(4) == 40);
  // Longer than helpers stay awake: their estimate was low.
  CHECK(Caller().alone(40) == 4);
}

TEST_CASE("a step that wakes the helpers may take as long as that takes") {
  Caller caller;
  for (int step = 0; step < 16; ++step) CHECK_FALSE(caller.run_short());
  CHECK(caller.run_short(80));
  CHECK(caller.run_short());
  CHECK(caller.run_short());
}

TEST_CASE("steps between which helpers fall asleep wake them never") {
  for (const int between : {25, 60, 100, 1000}) CHECK(Caller().shared_of_thousand(between) == 0);
}

TEST_CASE("helpers that were woken for nothing are left alone for longer and longer") {
  Caller caller;
  int wakings = 0;
  for (int burst = 0; burst < 1000; ++burst) {
    for (int step = 0; step < 17; ++step) wakings += caller.run_short() ? 1 : 0;
    caller.pass(1000);
  }
  CHECK(wakings < 12);
}

TEST_CASE("helpers may come late once, but not twice") {
  Caller caller;
  caller.run_long();
  for (int step = 0; step < 100; ++step) {
    CHECK(caller.run_short(20));
    CHECK(caller.run_short());
  }
  CHECK(caller.run_short(20));
  CHECK(caller.run_short(20));
  CHECK_FALSE(caller.run_short());
}

TEST_CASE("helpers that always come late cost next to nothing") {
  Caller caller;
  CHECK(caller.shared_of_thousand(0, 60) < 20);
  CHECK(caller.shared_of_thousand(0, 60) < 4);
}

TEST_CASE("work is shared by all threads or none, and short work only while they are awake") {
  const int before = threads();
  set_threads(2);
  CHECK(team_for(2'900).count == 1);
  CHECK(team_for(3'100).count == 2);
  CHECK(team_for(3'100).only_if_awake);
  CHECK(team_for(50'000).count == 2);
  CHECK_FALSE(team_for(50'000).only_if_awake);
  CHECK(threads_for(19'000) == 1);
  CHECK(threads_for(21'000) == 2);
  set_threads(16);
  CHECK(team_for(16'900).count == 1);
  CHECK(team_for(31'000).count == 16);
  CHECK(team_for(31'000).only_if_awake);
  CHECK(threads_for(31'000) == 1);
  CHECK(threads_for(33'000) == 16);
  set_threads(before);
}

TEST_CASE("a short step gives the same bits on one thread and on all") {
  using testing::StoredTensor;
  const int before = threads();
  const auto bits_of = [](core::OpId op, const core::Attributes& attributes, std::int64_t count, const Shape& shape) {
    StoredTensor x = StoredTensor::dense(DType::f32, {count}), y = StoredTensor::dense(DType::f32, shape);
    for (std::int64_t i = 0; i < count; ++i) x.put(i, 0.37L * static_cast<long double>(i % 101) - 9);
    const core::Operand from = x.operand(), to = y.operand();
    const auto kernel = device().prepare(core::Step{op, &attributes, {&from, 1}, {&to, 1}});
    std::vector<std::byte> workspace(kernel->workspace());
    const core::Address input{x.memory.data(), 0}, output{y.memory.data(), 0};
    kernel->launch({&input, 1}, {&output, 1}, {workspace.data(), 0});
    return y.memory;
  };
  const core::Attributes none, all_axes = core::AxesAttributes{{0}, false};
  for (const auto& [op, attributes, count, shape] :
       {std::tuple(core::OpId::tanh, &none, std::int64_t{10'007}, Shape{10'007}),
        std::tuple(core::OpId::sum, &all_axes, std::int64_t{70'001}, Shape{})}) {
    set_threads(1);
    const auto expected = bits_of(op, *attributes, count, shape);
    for (const int threads : {2, 3}) {
      set_threads(threads);
      awake_threads() = AwakeThreads();
      CHECK(bits_of(op, *attributes, count, shape) == expected);
      // In the future, so that nothing before the step's beginning lets the helpers fall asleep.
      awake_threads().region_done(AwakeThreads::Clock::now() + std::chrono::hours(1));
      CHECK(bits_of(op, *attributes, count, shape) == expected);
    }
  }
  awake_threads() = AwakeThreads();
  set_threads(before);
}

}  // namespace tyto::cpu
