// SPDX-License-Identifier: MIT
// Contention for the processors is detected on a simulated clock, and the team that is held then.
#include "devices/cpu/system/spinning.hpp"

#include <filesystem>
#include <iterator>
#include <system_error>

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <doctest/doctest.h>

namespace tyto::cpu {

namespace {

using std::chrono::milliseconds;

/// A thread that looks every now and then.
struct Looking {
  Contention contention;
  Contention::Time now{std::chrono::hours(1)};

  /// So many milliseconds later, of which it waited so many; whether there is contention.
  bool pass(int time, double waited) {
    now += milliseconds(time);
    return contention.look(now, {1e-3 * (time - waited), 1e-3 * waited});
  }
};

}  // namespace

TEST_CASE("processors are contended while threads wait for them a good part of their time") {
  Looking thread;
  CHECK_FALSE(thread.pass(0, 0));
  for (int window = 0; window < 50; ++window) CHECK_FALSE(thread.pass(20, 0.2));
  // Another program takes a third of a processor: noticed within a tenth of a second or two.
  int windows = 1;
  while (!thread.pass(20, 7) && windows < 50) ++windows;
  CHECK(windows >= 3);
  CHECK(windows <= 8);
  // Once noticed, it is believed for two seconds after the last sign, and as long as threads wait at all.
  for (int window = 0; window < 100; ++window) CHECK(thread.pass(20, 1.5));
  for (int window = 0; window < 20; ++window) (void)thread.pass(20, 0.2);
  CHECK_FALSE(thread.pass(20, 0.2));
}

TEST_CASE("programs that wake up for a moment now and then are no contention") {
  Looking thread;
  for (int second = 0; second < 20; ++second) {
    // Forty milliseconds in which half of the time is another's, and many short interruptions.
    for (int window = 0; window < 50; ++window) CHECK_FALSE(thread.pass(20, window % 25 < 2 ? 10 : 0.2));
  }
}

TEST_CASE("a pause says nothing of contention") {
  Looking thread;
  CHECK_FALSE(thread.pass(20, 0));
  CHECK_FALSE(thread.contention.look(thread.now += std::chrono::seconds(10), {}));
  CHECK_FALSE(thread.pass(20, 0));
  CHECK(thread.pass(2000, 900));
}

#if defined(__linux__)
TEST_CASE("the system tells how long a thread ran and waited") {
  const Contention::Usage before = Contention::Usage::of_this_thread();
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < milliseconds(30)) {
  }
  const Contention::Usage after = Contention::Usage::of_this_thread();
  CHECK(after.ran > before.ran);
  CHECK(after.waited >= before.waited);
}
#endif

#if defined(__linux__)
TEST_CASE("an idle team lives while it is held") {
  if (!is_libgomp()) {
    MESSAGE("not tried: this OpenMP keeps the threads of a team that has ended");
    return;
  }
  const auto threads = [] {
    namespace fs = std::filesystem;
    return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
  };
  const auto before = threads();
  IdleTeam team;
  team.hold();
  team.hold();
  CHECK(team.held());
  CHECK(threads() > before);
  team.release();
  CHECK_FALSE(team.held());
  team.release();
  // OpenMP's threads end by themselves a little after the one whose team they were.
  for (int wait = 0; wait < 1000 && threads() > before; ++wait) std::this_thread::sleep_for(milliseconds(10));
  CHECK(threads() == before);
}

TEST_CASE("a team that the system grants no threads is not held, and the process goes on") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // A user of many processes has too many; root may always have more, and gives that up first.
    const rlimit few{1, 1};
    if (setrlimit(RLIMIT_NPROC, &few) != 0 || (getuid() == 0 && setuid(65534) != 0)) _exit(2);
    IdleTeam team;
    int refusals = 0;
    for (int i = 0; i < 2; ++i) {
      try {
        team.hold();
      } catch (const std::system_error&) {
        ++refusals;
      }
    }
    _exit(refusals == 1 && !team.held() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) {
    MESSAGE("not tried: this process may not limit its own threads");
    return;
  }
  CHECK(WEXITSTATUS(status) == 0);
}
#endif

}  // namespace tyto::cpu
