// SPDX-License-Identifier: MIT
// tyto launch: starts the processes of a group by the launcher of an MPI, set so that they share machines well.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
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
  std::string_view rank;  // the variable of each process that it starts
};

constexpr Launcher launchers[] = {
    {"openmpi", {"mpirun.openmpi", "orterun"}, "openmpi-bin", "OMPI_COMM_WORLD_RANK"},
    {"mpich", {"mpiexec.hydra", "mpirun.mpich"}, "mpich", "PMI_RANK"},
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
        throw_error<DeviceError>("this copy of Tyto was built without ", *name, "; build it where lib", *name,
                                 "-dev is installed");
      }
      if (program_of(launcher).empty()) {
        throw_error<DeviceError>("the launcher of ", *name, " is not installed; on Debian and Ubuntu: apt-get install ",
                                 launcher.package);
      }
      return launcher;
    }
    throw_error<UsageError>("option --mpi takes openmpi or mpich, not '", *name, "'");
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
  if (!in) throw_error<IoError>(file, ": cannot be read");
  std::int64_t count = 0;
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos && line[first] != '#') ++count;
  }
  if (count == 0) throw_error<UsageError>(file, " names no hosts");
  return count;
}

/// Threads share the machine's cores among its processes, where nobody said otherwise.
void set_threads(std::int64_t processes_a_machine) {
  const auto cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t threads = std::max<std::int64_t>(1, cores / processes_a_machine);
  setenv("TYTO_THREADS", std::to_string(std::min(threads, most_threads)).c_str(), 0);
  if (processes_a_machine > cores) setenv("OMP_WAIT_POLICY", "passive", 0);
}

constexpr const char* eager_limit = "OMPI_MCA_btl_tcp_eager_limit";

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
    // By TCP, Open MPI asks who receives before it sends more than 64 KiB, and both questions and answers wait behind
    // what is on its way: sums of 1 MiB on four hosts took 1.5 times as long. 1 MiB is what a sum is cut into.
    if (std::getenv(eager_limit) == nullptr) add({"--mca", eager_limit + std::strlen("OMPI_MCA_"), "1052672"});
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

/// The processes of this machine that `root` started, and those that they did.
std::vector<pid_t> descendants(pid_t root) {
  std::vector<std::pair<pid_t, pid_t>> parents;
  std::error_code error;  // without /proc, or when it cannot be read to its end, those that were seen have to do
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    std::ifstream in(entry->path() / "stat");  // "31490 (name) S 31474 ...", where the name may hold anything
    std::string line;
    std::getline(in, line);
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) continue;
    char state = 0;
    pid_t parent = 0;
    std::istringstream(line.substr(name_end + 1)) >> state >> parent;
    parents.emplace_back(static_cast<pid_t>(std::atol(line.c_str())), parent);
  }
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const auto& [process, parent] : parents) {
      if (parent == found[i]) found.push_back(process);
    }
  }
  found.erase(found.begin());
  return found;
}

/// Whether the environment that the process began with has this variable.
bool has_variable(pid_t process, std::string_view name) {
  std::ifstream in("/proc/" + std::to_string(process) + "/environ");
  for (std::string entry; std::getline(in, entry, '\0');) {
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) return true;
  }
  return false;
}

/// Signals that end a run for good or have it pause, which come one by one to who asks for the next. The launcher,
/// which is in a group of its own, is told each by tyto alone, whether tyto or all that a terminal started were sent
/// it.
class Signals {
 public:
  Signals() {
    children_before_ = signal(SIGCHLD, SIG_DFL);  // else the status is lost
    sigemptyset(&set_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2, SIGCHLD}) {
      struct sigaction now {};
      sigaction(number, nullptr, &now);
      const bool stays_ignored = number == SIGHUP || number == SIGTSTP;  // under nohup, and without job control
      if (now.sa_handler != SIG_IGN || !stays_ignored) sigaddset(&set_, number);
    }
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  int next() const {
    int number = 0;
    sigwait(&set_, &number);
    return number;
  }
  /// Restores the signal handlers and mask that tyto inherited, for a program that it starts.
  void restore() const {
    if (children_before_ == SIG_IGN) signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t set_{}, before_{};
  void (*children_before_)(int) = SIG_DFL;
};

/// The launcher of an MPI does with SIGTSTP and SIGCONT what it can, on other machines too; MPICH's reaches nobody.
void tell_all(pid_t launcher, int to_launcher, int to_others) {
  kill(-launcher, to_launcher);
  for (const pid_t process : descendants(launcher)) kill(process, to_others);
}

/// Asks the processes to end, which finish their step and save where they train: Open MPI's launcher would kill them
/// after a second. Where none is on this machine, or it is the second time, the launcher ends them.
void ask_to_end(pid_t launcher, std::string_view rank_variable, int number, bool is_first) {
  bool asked = false;
  if (is_first && (number == SIGINT || number == SIGTERM)) {
    for (const pid_t process : descendants(launcher)) {
      if (has_variable(process, rank_variable)) asked = kill(process, number) == 0 || asked;
    }
  }
  if (!asked) kill(launcher, number);
}

/// The launcher is in a background group of the terminal, where reading would stop it for good, and writing too after
/// `stty tostop`.
void leave_terminal() {
  signal(SIGTTOU, SIG_IGN);
  if (isatty(STDIN_FILENO) == 0) return;
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing < 0) return;
  dup2(nothing, STDIN_FILENO);
  close(nothing);
}

/// Where a process of this machine that fails leaves its status, for launchers that forget it.
class FailureNote {
 public:
  FailureNote() : file_(memfd_create("tyto launch", MFD_CLOEXEC)) {
    if (file_ < 0) return;
    setenv(name, ("/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_)).c_str(), 1);
  }
  ~FailureNote() {
    if (file_ >= 0) close(file_);
  }
  FailureNote(const FailureNote&) = delete;
  FailureNote& operator=(const FailureNote&) = delete;

  /// The status left since the last call; 0 if there is none.
  int take() const {
    unsigned char status = 0;
    if (file_ < 0 || pread(file_, &status, 1, 0) != 1 || ftruncate(file_, 0) != 0) return 0;
    return status;
  }

  static constexpr const char* name = "TYTO_LAUNCH_STATUS";

 private:
  int file_;
};

struct Ended {
  int status;
  bool for_good;  // because a signal ended tyto
};

Ended run_once(const Signals& signals, const Launcher& launcher, const Words& words) {
  const pid_t tyto = getpid();
  const pid_t child = fork();
  const int error = errno;
  if (child == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody else tells it when tyto is killed
    if (getppid() != tyto) std::_Exit(killed + SIGTERM);
    signals.restore();
    leave_terminal();
    become(words);
  }
  if (child < 0) throw_error<DeviceError>("no process can be made: ", std::strerror(error));
  setpgid(child, child);  // whichever of the two comes first
  // `timeout` sends its signal twice, to tyto and then to the process group of both.
  constexpr auto repeats_within = std::chrono::milliseconds(500);
  std::chrono::steady_clock::time_point ended_at;
  int ended_by = 0, status = 0;
  while (true) {
    const int number = signals.next();
    if (number == SIGCHLD) {
      if (waitpid(child, &status, WNOHANG) == child) break;
    } else if (number == SIGTSTP) {
      tell_all(child, SIGTSTP, SIGSTOP);
      raise(SIGSTOP);
    } else if (number == SIGCONT) {
      tell_all(child, SIGCONT, SIGCONT);
    } else if (number == SIGUSR1 || number == SIGUSR2) {
      kill(child, number);
    } else {
      const auto now = std::chrono::steady_clock::now();
      if (number == ended_by && now - ended_at < repeats_within) continue;
      ask_to_end(child, launcher.rank, number, ended_by == 0);
      ended_by = number;
      ended_at = now;
    }
  }
  const int own = WIFEXITED(status) ? WEXITSTATUS(status) : killed + WTERMSIG(status);
  // Launchers have statuses of their own for processes that a signal ended.
  return {ended_by != 0 && own != done ? killed + ended_by : own, ended_by != 0};
}

int launch(const Arguments& arguments) {
  const Words& program = arguments.operands();
  if (program.empty()) throw UsageError("launch takes a program and its arguments");
  constexpr std::int64_t most_processes = 1 << 20;
  const std::int64_t processes = arguments.number("-n", 1, most_processes).value_or(2);
  const std::optional<std::string> hosts = arguments.text("--hosts");
  const std::int64_t machines = hosts ? hosts_in(*hosts) : 1;
  const Launcher& launcher = chosen_launcher(arguments);
  unsetenv(FailureNote::name);
  set_threads((processes + machines - 1) / machines);
  const Words words = command_of(launcher, processes, hosts, program);
  if (arguments.has("--print")) {
    for (const std::string& word : words) std::cout << word << (&word == &words.back() ? "\n" : " ");
    return done;
  }
  std::cout << std::flush;
  const std::int64_t restarts = arguments.number("--restarts", 0).value_or(0);
  const Signals signals;
  std::optional<FailureNote> note;
  if (!hosts) note.emplace();  // on another machine its path would be another file's
  const auto run = [&] {
    Ended ended = run_once(signals, launcher, words);
    const int noted = note ? note->take() : 0;
    if (ended.status == done) ended.status = noted;
    return ended;
  };
  Ended ended = run();
  for (std::int64_t i = 1; ended.status != done && !ended.for_good && i <= restarts; ++i) {
    std::cerr << "tyto: the processes ended with status " << ended.status << "; restart " << i << " of " << restarts
              << "\n";
    ended = run();
  }
  return ended.status;
}

}  // namespace

const Command launch_command{
    "launch", "PROGRAM [ARGUMENTS]", "starts a program as several processes that work together", launch_options, launch,
    true};

}  // namespace tyto::cli
