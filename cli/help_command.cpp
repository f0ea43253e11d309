// SPDX-License-Identifier: MIT
// tyto help: describes one command, or lists all of them.
#include <iostream>

#include "cli/commands.hpp"
#include "cli/help.hpp"

namespace tyto::cli {
namespace {

int give_help(const Arguments& arguments) {
  if (arguments.operands().empty()) {
    print_overview(std::cout);
  } else {
    print_help(std::cout, command_named(arguments.only_operand("help takes one command")));
  }
  return done;
}

}  // namespace

const Command help_command{"help", "[COMMAND]", "describes a command", {}, give_help};

}  // namespace tyto::cli
