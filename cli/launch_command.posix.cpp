// SPDX-License-Identifier: MIT
// tyto launch: starts the processes of a group by the launcher of an MPI, set so that they share machines well.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <tyto/distributed.hpp>

#include "cli/commands.hpp"

extern char** environ;

namespace tyto::cli {
namespace {

constexpr OptionRow launch_options[] = {
    {"-n", "COUNT", "how many processes; 2 if it is left out"},
    {"--hosts", "FILE", "a hosts file of the MPI: the machines to start them on, one a line"},
    {"--mpi", "openmpi|mpich", "which MPI; else the first that is installed and that this copy of Tyto knows"},
    {"--restarts", "COUNT", "start all again, so often at most, when one fails: from its checkpoint, if it keeps one"},
    {"--print", "", "print the launcher's command and run nothing"},
};

using Words = std::vector<std::string>;

/// The program's path, or nothing.
std::string found_in_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  const std::string folders = path == nullptr ? "" : path;
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string file = folders.substr(begin, end - begin) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return "";
}

struct Launcher {
  std::string_view mpi;          // as `--mpi` and tyto::distributed::backends() have it
  std::string_view programs[2];  // by the names that tell it from others
  std::string_view package;
};

constexpr Launcher launchers[] = {
    {"openmpi", {"mpirun.openmpi", "orterun"}, "openmpi-bin"},
    {"mpich", {"mpiexec.hydra", "mpirun.mpich"}, "mpich"},
};

std::string program_of(const Launcher& launcher) {
  for (const std::string_view name : launcher.programs) {
    if (std::string file = found_in_path(std::string(name)); !file.empty()) return file;
  }
  return "";
}

const Launcher& chosen_launcher(const Arguments& arguments) {
  const std::vector<std::string> known = distributed::backends();
  const auto is_known = [&](const Launcher& launcher) { return std::ranges::count(known, launcher.mpi) != 0; };
  if (const auto name = arguments.text("--mpi")) {
    for (const Launcher& launcher : launchers) {
      if (launcher.mpi != *name) continue;
      if (!is_known(launcher)) {
        throw DeviceError("this copy of Tyto was built without " + *name + "; build it where lib" + *name +
                          "-dev is installed");
      }
      if (program_of(launcher).empty()) {
        throw DeviceError("the launcher of " + *name + " is not installed; on Debian and Ubuntu: apt-get install " +
                          std::string(launcher.package));
      }
      return launcher;
    }
    throw UsageError("option --mpi takes openmpi or mpich, not '" + *name + "'");
  }
  for (const Launcher& launcher : launchers) {
    if (is_known(launcher) && !program_of(launcher).empty()) return launcher;
  }
  throw DeviceError(
      "there is no MPI to start processes with: install one and build Tyto with it (on Debian and Ubuntu: apt-get "
      "install openmpi-bin libopenmpi-dev)");
}

std::int64_t hosts_in(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw IoError(file + ": cannot be read");
  std::int64_t count = 0;
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos && line[first] != '#') ++count;
  }
  if (count == 0) throw UsageError(file + " names no hosts");
  return count;
}

/// Threads share the machine's cores among its processes, where nobody said otherwise.
void set_threads(std::int64_t processes_a_machine) {
  const auto cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t threads = std::max<std::int64_t>(1, cores / processes_a_machine);
  setenv("TYTO_THREADS", std::to_string(std::min(threads, most_threads)).c_str(), 0);
  if (processes_a_machine > cores) setenv("OMP_WAIT_POLICY", "passive", 0);
}

Words command_of(const Launcher& launcher, std::int64_t processes, const std::optional<std::string>& hosts,
                 const Words& program) {
  Words words{program_of(launcher)};
  const auto add = [&words](std::initializer_list<const char*> more) {
    for (const char* word : more) words.emplace_back(word);
  };
  const std::string count = std::to_string(processes);
  if (launcher.mpi == "openmpi") {
    if (geteuid() == 0) add({"--allow-run-as-root"});
    // More processes than cores are welcome, threads are bound to none, and who waits lets others compute.
    add({"--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"});
    if (hosts) {
      add({"--hostfile", hosts->c_str()});
      for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string line = *entry;
        if (!line.starts_with("TYTO_") && !line.starts_with("OMP_")) continue;
        add({"-x", line.substr(0, line.find('=')).c_str()});
      }
    }
  } else if (hosts) {
    add({"-f", hosts->c_str()});
  }
  add({"-n", count.c_str()});
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

[[noreturn]] void become(const Words& words) {
  std::vector<char*> list;
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  execv(list[0], list.data());
  std::cerr << "tyto: " << words[0] << ": " << std::strerror(errno) << "\n";
  std::_Exit(refused);
}

constexpr int killed = 128;  // as shells say it: and the number of the signal

volatile std::sig_atomic_t stopped_by = 0;
volatile pid_t running = 0;

void stop(int signal) {
  stopped_by = signal;
  if (running != 0) kill(running, signal);
}

/// What ends a run for good: the launcher, which ends the processes, is told, once. As it is in a group of its own,
/// what a terminal, timeout or a service manager sends to all that tyto started reaches it through tyto alone.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    struct sigaction action {};
    action.sa_handler = stop;
    for (std::size_t i = 0; i < std::size(numbers); ++i) {
      sigaction(numbers[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN && numbers[i] == SIGHUP) continue;  // under nohup
      sigaddset(&set_, numbers[i]);
      sigaction(numbers[i], &action, nullptr);
    }
  }
  void hold() { sigprocmask(SIG_BLOCK, &set_, &mask_); }
  void release() { sigprocmask(SIG_SETMASK, &mask_, nullptr); }
  /// As a new program finds them: in the child, which must not run the handler.
  void restore() {
    for (std::size_t i = 0; i < std::size(numbers); ++i) sigaction(numbers[i], &before_[i], nullptr);
    release();
  }

 private:
  static constexpr int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  struct sigaction before_[std::size(numbers)]{};
  sigset_t set_{}, mask_{};
};

int status_of_run(Signals& signals, const Words& words) {
  const pid_t tyto = getpid();
  signals.hold();
  if (stopped_by != 0) return killed + stopped_by;
  const pid_t child = fork();
  const int error = errno;
  if (child == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody else tells it when tyto is killed
    if (getppid() != tyto) std::_Exit(killed + SIGTERM);
    signals.restore();
    become(words);
  }
  running = std::max(child, 0);
  signals.release();
  if (child < 0) throw DeviceError(std::string("no process can be made: ") + std::strerror(error));
  // Its number stays its own until it is no longer told anything.
  siginfo_t ended{};
  while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  running = 0;
  int status = 0;
  waitpid(child, &status, 0);
  if (stopped_by != 0) return killed + stopped_by;
  return WIFEXITED(status) ? WEXITSTATUS(status) : killed + WTERMSIG(status);
}

int launch(const Arguments& arguments) {
  const Words& program = arguments.operands();
  if (program.empty()) throw UsageError("launch takes a program and its arguments");
  constexpr std::int64_t most_processes = 1 << 20;
  const std::int64_t processes = arguments.number("-n", 1, most_processes).value_or(2);
  const std::optional<std::string> hosts = arguments.text("--hosts");
  const std::int64_t machines = hosts ? hosts_in(*hosts) : 1;
  const Launcher& launcher = chosen_launcher(arguments);
  set_threads((processes + machines - 1) / machines);
  const Words words = command_of(launcher, processes, hosts, program);
  if (arguments.has("--print")) {
    for (const std::string& word : words) std::cout << word << (&word == &words.back() ? "\n" : " ");
    return done;
  }
  std::cout << std::flush;
  const std::int64_t restarts = arguments.number("--restarts", 0).value_or(0);
  if (restarts == 0) become(words);
  Signals signals;
  int status = status_of_run(signals, words);
  for (std::int64_t i = 1; status != done && stopped_by == 0 && i <= restarts; ++i) {
    std::cerr << "tyto: the processes ended with status " << status << "; restart " << i << " of " << restarts << "\n";
    status = status_of_run(signals, words);
  }
  return status;
}

}  // namespace

const Command launch_command{
    "launch", "PROGRAM [ARGUMENTS]", "starts a program as several processes that work together", launch_options, launch,
    true};

}  // namespace tyto::cli
