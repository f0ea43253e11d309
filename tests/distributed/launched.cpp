// SPDX-License-Identifier: MIT
// Processes are started as users start them, by `tyto launch`.
#include "tests/distributed/launched.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

namespace distributed_tests {

namespace {

Ran run(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Ran ran{0, ""};
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) ran.output += static_cast<char>(c);
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  return ran;
}

std::string launch(const std::string& mpi) {
  const std::string program = given("PROGRAM_UNDER_TEST");
  REQUIRE_MESSAGE(!program.empty(), "PROGRAM_UNDER_TEST names the program tyto; ctest sets it");
  return "'" + program + "' launch --mpi " + mpi;
}

// Of 230 groups of a program in C that only waits for all and ends, it returned another status for 60.
bool loses_statuses(const std::string& mpi) {
  return mpi == "mpich" && contains(run("mpiexec.hydra --version").output, " 4.2.");
}

}  // namespace

std::string given(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::string command_of_case(const std::string& mpi, int processes, const std::string& name,
                            const std::string& environment, const std::string& options) {
  const std::string self = given("DISTRIBUTED_TEST");
  REQUIRE_MESSAGE(!self.empty(), "DISTRIBUTED_TEST names this program; ctest sets it");
  // MPI keeps memory to its end, which is none of ours.
  return "env " + environment + " ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 TYTO_THREADS=1 " +
         launch(mpi) + " -n " + std::to_string(processes) + " " + options + " '" + self + "' --no-skip --test-case='" +
         name + "'";
}

Ran run_case(const std::string& mpi, int processes, const std::string& name, const std::string& environment) {
  // Whoever waits for ever is ended, with status 124.
  return run("timeout 300 " + command_of_case(mpi, processes, name, environment));
}

// MPICH's launcher kills what is left of a group, notes 1 where a connection closed before its process was waited for,
// and joins the bits of all statuses: 2 and 9 are 11.
bool ended_with(const std::string& mpi, const Ran& ran, int status) {
  constexpr int killed = 9, noted = 1;
  if (ran.status == status) return true;
  return mpi == "mpich" && (ran.status == killed || ran.status == noted || ran.status == (status | killed));
}

void with_each_mpi(const std::function<void(const std::string& mpi)>& test) {
  for (const char* mpi : {"openmpi", "mpich"}) {
    const Ran known = run(launch(mpi) + " --print true");
    if (known.status != 0) {
      MESSAGE("skipped: ", known.output);
      continue;
    }
    if (loses_statuses(mpi)) {
      MESSAGE("skipped: the launcher of MPICH 4.2 loses statuses of processes");
      continue;
    }
    CAPTURE(mpi);
    test(mpi);
  }
}

}  // namespace distributed_tests
