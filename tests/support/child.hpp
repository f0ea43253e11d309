// SPDX-License-Identifier: MIT
// Runs a program from a test: starts it, waits for it or kills it, and reads what it printed.
#pragma once

#include <fcntl.h>
#include <signal.h>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/file_text.hpp"

namespace tyto::testing {

class Child {
 public:
  /// Starts a program of this build, whose both streams go to the file `output`.
  Child(std::vector<std::string> words, const std::filesystem::path& output) {
#if defined(TYTO_EMULATOR)  // the system cannot start a program for another processor
    std::istringstream emulator(TYTO_EMULATOR);
    words.insert(words.begin(), std::istream_iterator<std::string>(emulator), std::istream_iterator<std::string>());
#endif
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    id_ = fork();
    if (id_ != 0) return;
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    // A shell that starts the tests in the background has Ctrl-C ignored by all of them.
    ::signal(SIGINT, SIG_DFL);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  /// The status as waitpid gives it.
  int wait() const {
    int status = 0;
    waitpid(id_, &status, 0);
    return status;
  }
  void kill(int signal = SIGKILL) const { ::kill(id_, signal); }

 private:
  pid_t id_;
};

struct Ran {
  bool succeeded;
  std::string output;  // of both streams
};

/// Runs a program to its end.
inline Ran run_to_end(const std::vector<std::string>& words, const std::filesystem::path& output) {
  const int status = Child(words, output).wait();
  return {WIFEXITED(status) && WEXITSTATUS(status) == 0, text_of(output)};
}

/// The test program that asks.
inline std::filesystem::path this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

/// A program that is built beside the test program that asks.
inline std::filesystem::path built_beside(const std::string& name) { return this_program().parent_path() / name; }

}  // namespace tyto::testing
