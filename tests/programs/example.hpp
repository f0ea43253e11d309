// SPDX-License-Identifier: MIT
// One of the examples run by a test, in a folder of its own, and the tables that it writes.
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
  explicit Example(const std::string& name) : name_(name), program_(testing::built_beside(name)) {
    if (!is_built()) MESSAGE("skipped: the example ", name_, " is not built");
  }

  bool is_built() const { return std::filesystem::exists(program_); }
  std::string path(const std::string& file) const { return folder_ / file; }
  std::string text(const std::string& file) const { return testing::text_of(folder_ / file); }

  testing::Ran try_to_run(const std::string& arguments) const {
    return testing::run_to_end(command(arguments), path("output"));
  }
  /// What it prints; it must succeed.
  std::string run(const std::string& arguments) const {
    const testing::Ran ran = try_to_run(arguments);
    INFO(arguments, "\n", ran.output);
    REQUIRE(ran.succeeded);
    return ran.output;
  }
  /// What it prints when it fails, as it must.
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
    return {"/bin/sh", "-c", "exec '" + program_.string() + "' " + arguments};
  }

  std::string name_;
  std::filesystem::path program_;
  testing::TemporaryFolder folder_;
};

}  // namespace tyto::programs_test
