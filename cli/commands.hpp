// SPDX-License-Identifier: MIT
// The subcommands of `tyto`: one row each in the table, one file each.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/arguments.hpp"

namespace tyto::cli {

/// Exit statuses of every subcommand.
inline constexpr int done = 0;
inline constexpr int refused = 1;  // understood, but it cannot be done
inline constexpr int misused = 2;  // the command line or an input file is wrong

struct Command {
  std::string_view name;
  std::string_view operands;
  std::string_view summary;
  std::span<const OptionRow> options;
  int (*run)(const Arguments&);
  bool takes_program = false;  // whose own options follow it
};

std::span<const Command> commands();

/// The command of that name. Throws UsageError.
const Command& command_named(const std::string& name);

extern const Command plan_command;
extern const Command graph_command;
extern const Command run_command;
extern const Command show_command;
extern const Command devices_command;
extern const Command launch_command;
extern const Command scale_command;
extern const Command completion_command;
extern const Command environment_command;
extern const Command manual_command;
extern const Command help_command;

}  // namespace tyto::cli
