// SPDX-License-Identifier: MIT
// What `--help` prints, from the table of commands; the manual page and the completions of a shell are made of it too.
#pragma once

#include <iosfwd>

#include "cli/commands.hpp"

namespace tyto::cli {

/// What `tyto --help` says.
void print_overview(std::ostream& out);
/// What `tyto COMMAND --help` says.
void print_help(std::ostream& out, const Command& command);
/// What `tyto --version` says: the version, and what the library was built with.
void print_version(std::ostream& out);

}  // namespace tyto::cli
