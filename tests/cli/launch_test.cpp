// SPDX-License-Identifier: MIT
// tyto launch: what it runs, what it refuses, and starting again. tests/distributed starts groups by it.
#include <sys/stat.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "tests/cli/program.hpp"

namespace tyto::cli_tests {

namespace {

/// Whether there is an MPI to start processes with; says so where there is none.
bool is_there(const std::string& mpi) {
  const Ran known = run("launch --mpi " + mpi + " --print true");
  if (known.status != 0) MESSAGE("skipped: ", known.output);
  return known.status == 0;
}

/// A program for launch whose standard input does not end: MPICH's launcher dies of SIGPIPE where it tells processes
/// that are gone that there is no more input.
std::string shell(const Workplace& place, const std::string& script) {
  const std::string input = place.path("input");
  mkfifo(input.c_str(), 0600);
  return " sh -c '" + script + "' <>" + input;
}

}  // namespace

TEST_CASE("launch prints the launcher's command, and leaves the program its own options") {
  if (is_there("openmpi")) {
    const Ran ran = run("launch --mpi openmpi -n 3 --print train --help -n 5");
    CHECK(ran.status == 0);
    CHECK(contains(ran.output,
                   " --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca btl_tcp_eager_limit 1052672 "
                   "-n 3 train --help -n 5\n"));
    const Workplace place;
    const std::string hosts = place.write("hosts", "# two\nnode1 slots=2\n\nnode2 slots=2\n");
    const Ran far = run("launch --mpi openmpi -n 4 --hosts " + hosts + " --print train", "TYTO_JIT=0");
    CHECK(contains(far.output, " --hostfile " + hosts + " "));
    CHECK(contains(far.output, " -x TYTO_JIT "));
    CHECK(contains(far.output, " -x TYTO_THREADS "));
  }
  if (is_there("mpich")) {
    const Ran ran = run("launch --mpi=mpich --print train --rate 0.1");
    CHECK(ran.status == 0);
    CHECK(contains(ran.output, " -n 2 train --rate 0.1\n"));
  }
}

TEST_CASE("launch gives each process its share of the cores, unless somebody chose") {
  for (const char* mpi : {"openmpi", "mpich"}) {
    if (!is_there(mpi)) continue;
    const Workplace place;
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const auto told = [&](int processes, const std::string& environment) {
      const Ran ran = run(std::string("launch --mpi ") + mpi + " -n " + std::to_string(processes) +
                              shell(place, "echo threads ${TYTO_THREADS:-none}, ${OMP_WAIT_POLICY:-as usual}."),
                          environment);
      CHECK_MESSAGE(ran.status == 0, ran.output);
      return ran.output;
    };
    const std::string nobody = "env -u TYTO_THREADS -u OMP_WAIT_POLICY";
    CHECK(contains(told(1, nobody), "threads " + std::to_string(std::min(cores, 1024)) + ", as usual."));
    CHECK(contains(told(2, nobody), "threads " + std::to_string(std::clamp(cores / 2, 1, 1024)) +
                                        (cores < 2 ? ", passive." : ", as usual.")));
    CHECK(contains(told(cores + 1, nobody), "threads 1, passive."));
    CHECK(contains(told(1, nobody + " TYTO_THREADS=7"), "threads 7, as usual."));
    CHECK(contains(told(cores + 1, nobody + " TYTO_THREADS=7 OMP_WAIT_POLICY=active"), "threads 7, active."));
  }
}

TEST_CASE("launch starts all again when one fails, as often as it is told") {
  for (const char* mpi : {"openmpi", "mpich"}) {
    if (!is_there(mpi)) continue;
    const Workplace place;
    const std::string mark = place.path("mark");
    const std::string start = std::string("launch --mpi ") + mpi + " -n 1";
    const std::string program = shell(place, "test -e " + mark + " && exit 0; touch " + mark + "; exit 3");
    const Ran ran = run(start + " --restarts 2" + program);
    CHECK(ran.status == 0);
    CHECK(contains(ran.output, "tyto: the processes ended with status 3; restart 1 of 2"));
    CHECK(!contains(ran.output, "restart 2"));
    CHECK(run(start + " --restarts 1" + shell(place, "exit 5")).status == 5);
    CHECK(run(start + shell(place, "exit 5")).status == 5);
  }
}

TEST_CASE("launch returns the status that a failing process left, whatever the MPI's launcher makes of it") {
  for (const char* mpi : {"openmpi", "mpich"}) {
    if (!is_there(mpi)) continue;
    const Workplace place;
    const std::string start = std::string("launch --mpi ") + mpi + " -n 2";
    // The launcher sees two processes that end well.
    const std::string program = shell(place, R"(printf "\007" >"$TYTO_LAUNCH_STATUS")");
    CHECK(run(start + program).status == 7);
    CHECK(contains(run(start + " --restarts 1" + program).output, "the processes ended with status 7; restart 1 of 1"));
    CHECK(run(start + shell(place, "true")).status == 0);
  }
}

TEST_CASE("launch passes on what is to end it, and starts nothing again") {
  for (const char* mpi : {"openmpi", "mpich"}) {
    if (!is_there(mpi)) continue;
    const struct {
      const char* name;
      int status;
      const char* receiver;  // a service manager, timeout and a terminal tell the whole process group
      const char* restarts;
    } signals[] = {{"TERM", 143, "$launcher", " --restarts 3"},
                   {"INT", 130, "$launcher", " --restarts 3"},
                   {"TERM", 143, "-$launcher", " --restarts 3"},
                   {"INT", 130, "-$launcher", " --restarts 3"},
                   {"HUP", 129, "-$launcher", " --restarts 3"},
                   {"KILL", 137, "-$launcher", " --restarts 3"},
                   {"TERM", 143, "$launcher", ""},
                   {"INT", 130, "-$launcher", ""},
                   {"HUP", 129, "$launcher", ""},
                   {"KILL", 137, "-$launcher", ""}};
    for (const auto& [name, status, receiver, restarts] : signals) {
      CAPTURE(mpi);
      CAPTURE(std::string(name));
      CAPTURE(std::string(receiver));
      CAPTURE(std::string(restarts));
      const Workplace place;
      const std::string pid = place.path("pid"), out = place.path("out");
      place.write("stop.sh", "set -m\n\"$PROGRAM_UNDER_TEST\" launch --mpi " + std::string(mpi) + " -n 1" + restarts +
                                 " sh -c 'echo $$ > " + pid + ".part; mv " + pid + ".part " + pid +
                                 "; exec sleep 100' > " + out +
                                 " 2>&1 &\n"
                                 "launcher=$!\n"
                                 "while ! test -e " +
                                 pid + "; do sleep 0.1; done\nkill -" + name + " -- " + receiver +
                                 "\n"
                                 "wait $launcher\necho status $?\n"
                                 "for i in $(seq 100); do kill -0 $(cat " +
                                 pid + ") 2>/dev/null || { echo gone; break; }; sleep 0.1; done\n");
      // Without `set -m` what a shell starts in the background ignores SIGINT and is in the group of the shell.
      std::FILE* pipe = popen(("bash " + place.path("stop.sh") + " 2>&1").c_str(), "r");
      REQUIRE(pipe != nullptr);
      std::string told;
      for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) told += static_cast<char>(c);
      pclose(pipe);
      CHECK(contains(told, "status " + std::to_string(status) + "\n"));
      CHECK(contains(told, "gone"));
      CHECK(!contains(place.read("out"), "restart"));
    }
  }
}

TEST_CASE("launch asks the processes themselves to end, and waits for them") {
  for (const char* mpi : {"openmpi", "mpich"}) {
    if (!is_there(mpi)) continue;
    const std::string kill = "kill -TERM $launcher\n";
    // The second one within half a second, unless this machine is too busy.
    const std::string twice = "begin=$(date +%s%N)\n" + kill + "sleep 0.1\n" + kill +
                              "[ $(($(date +%s%N) - begin)) -lt 400000000 ] || echo late\n";
    // `timeout` passes a signal on twice, to its child and to the process group of both: within microseconds, so that
    // tyto sees one or two.
    for (const auto& [under, kills] : {std::pair{"", kill}, std::pair{"timeout 100 ", kill}, std::pair{"", twice}}) {
      CAPTURE(mpi);
      CAPTURE(kills);
      const Workplace place;
      // Longer than Open MPI's launcher leaves to those that it ends.
      place.write("rank.sh",
                  "trap 'trap \"\" TERM; sleep 3; touch done.$$; exit 143' TERM\ntouch pid.$$\n"
                  "for i in $(seq 500); do sleep 0.1; done\n");
      place.write("stop.sh", "set -m\ncd " + place.path("") + "\n" + under + "\"$PROGRAM_UNDER_TEST\" launch --mpi " +
                                 std::string(mpi) +
                                 " -n 2 sh rank.sh > out 2>&1 &\nlauncher=$!\n"
                                 "while [ $(ls | grep -c pid) -lt 2 ]; do sleep 0.1; done\n" +
                                 kills + "wait $launcher\necho status $?, $(ls | grep -c done) done\n");
      std::FILE* pipe = popen(("bash " + place.path("stop.sh") + " 2>&1").c_str(), "r");
      REQUIRE(pipe != nullptr);
      std::string told;
      for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) told += static_cast<char>(c);
      pclose(pipe);
      CHECK((contains(told, "status 143, 2 done\n") || contains(told, "late")));
    }
  }
}

TEST_CASE("launch gives its processes no terminal to read, and passes files and pipes on") {
  if (std::system("command -v script >/dev/null") != 0) {
    MESSAGE("skipped: there is no `script` to make a terminal with");
    return;
  }
  for (const char* mpi : {"openmpi", "mpich"}) {
    if (!is_there(mpi)) continue;
    CAPTURE(mpi);
    const Workplace place;
    const std::string launch = "\"$PROGRAM_UNDER_TEST\" launch --mpi " + std::string(mpi) + " -n 1 ";
    // tostop stops what a background group writes.
    place.write("read.sh", "stty tostop\n" + launch + "sh -c 'cat; echo end of input'\necho status $?\n");
    const auto told = [](const std::string& command) {
      std::FILE* pipe = popen(command.c_str(), "r");
      REQUIRE(pipe != nullptr);
      std::string text;
      for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
      pclose(pipe);
      return text;
    };
    const std::string read = told("timeout --foreground -s KILL 30 script -qec 'sh " + place.path("read.sh") +
                                  "' /dev/null 2>&1 </dev/null");
    CHECK(contains(read, "end of input"));
    CHECK(contains(read, "status 0"));
    CHECK(told("echo from a pipe | " + launch + "cat 2>&1") == "from a pipe\n");
    place.write("input", "from a file\n");
    CHECK(told(launch + "cat < " + place.path("input") + " 2>&1") == "from a file\n");
  }
}

TEST_CASE("launch stops its processes with it, as Ctrl-Z does, and goes on with them") {
  for (const char* mpi : {"openmpi", "mpich"}) {
    if (!is_there(mpi)) continue;
    for (const char* receiver : {"$launcher", "-$launcher"}) {
      const char* const restarts = receiver[0] == '-' ? "" : " --restarts 3";
      CAPTURE(mpi);
      CAPTURE(std::string(receiver));
      const Workplace place;
      place.write("stop.sh",
                  "set -m\ncd " + place.path("") + "\n\"$PROGRAM_UNDER_TEST\" launch --mpi " + std::string(mpi) +
                      " -n 2" + restarts +
                      " sh -c 'touch pid.$$; exec sleep 100' > out 2>&1 &\n"
                      "launcher=$!\n"
                      "while [ $(ls | grep -c pid) -lt 2 ]; do sleep 0.1; done\n"
                      "state() { sed 's/.*) \\(.\\).*/\\1/' /proc/$1/stat; }\n"
                      "states() { for p in $launcher $(ls | sed -n 's/pid.//p'); do state $p; done | sort -u; }\n"
                      "until_all() { for i in $(seq 100); do [ \"$(states)\" = $1 ] && echo all $1 && break; "
                      "sleep 0.1; done; }\n"
                      "until_all S\nkill -TSTP -- " +
                      receiver + "\nuntil_all T\nkill -CONT -- " + receiver + "\nuntil_all S\nkill -TSTP -- " +
                      receiver + "\nuntil_all T\nkill -TERM -- " + receiver + "\nkill -CONT -- " + receiver +
                      "\nwait -f $launcher\necho status $?\n");
      std::FILE* pipe = popen(("bash " + place.path("stop.sh") + " 2>/dev/null").c_str(), "r");
      REQUIRE(pipe != nullptr);
      std::string told;
      for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) told += static_cast<char>(c);
      pclose(pipe);
      CHECK(told == "all S\nall T\nall S\nall T\nstatus 143\n");
      CHECK(!contains(place.read("out"), "restart"));
    }
  }
}

TEST_CASE("launch refuses what makes no sense by name") {
  const Ran none = run("launch");
  CHECK(none.status == 2);
  CHECK(contains(none.output, "launch takes a program and its arguments"));
  const Ran unknown = run("launch --mpi lam true");
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.output, "option --mpi takes openmpi or mpich, not 'lam'"));
  CHECK(run("launch -n 0 true").status == 2);
  CHECK(run("launch --processes 2 true").status == 2);
  const Ran missing = run("launch --hosts /no/such/hosts true");
  CHECK(missing.status == 2);
  CHECK(contains(missing.output, "/no/such/hosts: cannot be read"));
  CHECK(contains(run("launch --help").output, "usage: tyto launch [OPTIONS] PROGRAM [ARGUMENTS]\n"));
  if (is_there("openmpi")) {
    const Ran without = run("launch --mpi openmpi true", "PATH=/nowhere");
    CHECK(without.status == 1);
    CHECK(contains(without.output, "apt-get install openmpi-bin"));
  }
}

}  // namespace tyto::cli_tests
