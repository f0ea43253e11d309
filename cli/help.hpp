// SPDX-License-Identifier: MIT
// Prints the texts of `--help` from the table of commands, of which the manual page and shell completions are made too.
#pragma once

#include <iosfwd>

#include "cli/commands.hpp"

namespace tyto::cli {

/// Prints `tyto --help`.
void print_overview(std::ostream& out);
/// Prints `tyto COMMAND --help`.
void print_help(std::ostream& out, const Command& command);
/// Prints `tyto --version`: the version, and the optional parts of the library.
void print_version(std::ostream& out);

}  // namespace tyto::cli
