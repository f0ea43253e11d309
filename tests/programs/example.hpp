// SPDX-License-Identifier: MIT
// Runs one of the examples in a folder of its own, and reads the tables that it writes.
#pragma once

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/child.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tyto::programs_test {

struct Table {
  std::vector<std::string> names;
  std::vector<std::vector<double>> rows;
};

class Example {
 public:
  /// Started by `tyto launch` where it is to be several processes.
  explicit Example(const std::string& name, int processes = 1)
      : program_(testing::built_beside(name)), is_there_(std::filesystem::exists(program_)) {
    if (!is_there_) MESSAGE("skipped: the example ", name, " is not built");
    if (processes == 1) return;
    const std::string tyto = testing::built_beside("tyto").string();
    const testing::Ran known = testing::run_to_end({tyto, "launch", "--print", "true"}, path("output"));
    if (!known.succeeded) MESSAGE("skipped: ", known.output);
    is_there_ = is_there_ && known.succeeded;
    // MPI keeps memory to its end, which is none of ours.
    launcher_ = "env ASAN_OPTIONS=detect_leaks=0 '" + tyto + "' launch -n " + std::to_string(processes) + " ";
  }

  bool is_built() const { return is_there_; }
  bool is_launched() const { return !launcher_.empty(); }
  std::string path(const std::string& file) const { return folder_ / file; }
  std::string text(const std::string& file) const { return testing::text_of(folder_ / file); }

  testing::Ran try_to_run(const std::string& arguments) const {
    return testing::run_to_end(command(arguments), path("output"));
  }
  /// The program's output; it must succeed.
  std::string run(const std::string& arguments) const {
    const testing::Ran ran = try_to_run(arguments);
    INFO(arguments, "\n", ran.output);
    REQUIRE(ran.succeeded);
    return ran.output;
  }
  /// The program's output when it fails, as it must.
  std::string refusal(const std::string& arguments) const {
    const testing::Ran ran = try_to_run(arguments);
    CHECK(!ran.succeeded);
    return ran.output;
  }
  /// Starts it; what it prints goes to the file "output".
  testing::Child start(const std::string& arguments) const { return {command(arguments), path("output")}; }
  /// Starts it, and kills it a little after this file is there.
  void kill_once_there(const std::string& arguments, const std::string& file) const {
    const testing::Child child = start(arguments);
    for (int waited = 0; !std::filesystem::exists(path(file)) && waited < 6000; ++waited) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    child.kill();
    CHECK(WIFSIGNALED(child.wait()));
  }

  Table table(const std::string& file) const {
    Table table;
    std::istringstream lines(text(file));
    std::string line, field;
    std::getline(lines, line);
    for (std::istringstream fields(line); std::getline(fields, field, ',');) table.names.push_back(field);
    while (std::getline(lines, line)) {
      std::vector<double>& row = table.rows.emplace_back();
      for (std::istringstream fields(line); std::getline(fields, field, ',');) row.push_back(std::stod(field));
    }
    return table;
  }

 private:
  /// Through the shell, which knows how to take quoted words apart; it gives its place to the program.
  std::vector<std::string> command(const std::string& arguments) const {
    return {"/bin/sh", "-c", "exec " + launcher_ + "'" + program_.string() + "' " + arguments};
  }

  std::filesystem::path program_;
  bool is_there_;
  std::string launcher_;
  testing::TemporaryFolder folder_;
};

}  // namespace tyto::programs_test
