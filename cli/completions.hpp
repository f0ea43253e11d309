// SPDX-License-Identifier: MIT
// Completion scripts for shells, generated from the table of commands.
#pragma once

#include <iosfwd>

namespace tyto::cli {

void print_bash_completion(std::ostream& out);
void print_zsh_completion(std::ostream& out);
void print_fish_completion(std::ostream& out);

}  // namespace tyto::cli
