// SPDX-License-Identifier: MIT
// tyto environment: lists the environment variables that are read, and the values that they have.
#include <iostream>

#include <tyto/environment.hpp>

#include "cli/commands.hpp"

namespace tyto::cli {
namespace {

int list_environment(const Arguments& arguments) {
  if (!arguments.operands().empty()) throw UsageError("environment takes no operands");
  int status = done;
  for (const EnvironmentEntry& entry : tyto::environment()) {
    std::cout << entry.name << (entry.value ? "=" + *entry.value : "") << "\n  " << entry.meaning << " ("
              << entry.values << ")\n";
    if (entry.is_accepted) continue;
    std::cout << "  this value is not accepted\n";
    status = refused;
  }
  return status;
}

}  // namespace

const Command environment_command{
    "environment", "", "lists the environment variables that are read", {}, list_environment};

}  // namespace tyto::cli
