// SPDX-License-Identifier: MIT
// Runs the real program in a folder of its own, for the tests of the command line.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/message.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tyto::cli_tests {

struct Ran {
  int status;
  std::string output;  // of both streams
};

// Files that a test gives to the program, and those that the program writes.
class Workplace {
 public:
  std::string path(const std::string& name) const { return folder_ / name; }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
  testing::TemporaryFolder folder_;
};

/// `environment`: assignments that come before the program's name. `redirection`: where its streams go, both to the
/// result unless it says otherwise.
inline Ran run(const std::string& arguments, const std::string& environment = "",
               const std::string& redirection = "2>&1") {
  const char* program = std::getenv("PROGRAM_UNDER_TEST");
  REQUIRE_MESSAGE(program != nullptr, "PROGRAM_UNDER_TEST names the program under test; ctest sets it");
  std::FILE* pipe =
      popen((environment + " '" + std::string(program) + "' " + arguments + " " + redirection).c_str(), "r");
  REQUIRE(pipe != nullptr);
  Ran ran{0, ""};
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) ran.output += static_cast<char>(c);
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  return ran;
}

using tyto_test::contains;

}  // namespace tyto::cli_tests
