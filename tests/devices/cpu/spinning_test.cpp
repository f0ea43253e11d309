// When other programs are taken to want the processors, on a clock of the test's own, and the team that is held then.
#include "devices/cpu/spinning.hpp"

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

/// A process with two threads, and what the system counts of it.
struct Counted {
  Contention contention;
  Contention::Time now{std::chrono::hours(1)};
  Contention::Usage usage;

  /// So much later, after so many interruptions; whether there is contention.
  bool pass(int time, int interruptions) {
    now += milliseconds(time);
    usage.seconds += 2e-3 * time;
    usage.interruptions += interruptions;
    return contention.look(now, usage);
  }
};

}  // namespace

TEST_CASE("processors are contended while the system takes them away at the end of each slice of time") {
  Counted process;
  process.usage = {1000, 2.0};  // of the time before the first look
  CHECK_FALSE(process.pass(0, 0));
  for (int window = 0; window < 50; ++window) CHECK_FALSE(process.pass(20, window % 2));
  CHECK(process.pass(20, 8));
  // Once noticed, it is believed for two seconds.
  for (int window = 0; window < 100; ++window) CHECK(process.pass(20, 0));
  CHECK_FALSE(process.pass(20, 0));
  CHECK(process.pass(20, 8));
}

TEST_CASE("what was counted long ago says nothing of contention") {
  Counted process;
  CHECK_FALSE(process.pass(20, 0));
  CHECK_FALSE(process.pass(10'000, 100'000));
  CHECK(process.pass(20, 8));
}

#if defined(__linux__)
TEST_CASE("an idle team lives while it is held") {
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
