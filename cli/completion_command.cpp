// SPDX-License-Identifier: MIT
// tyto completion: prints the script by which a shell completes commands, options and files.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>

#include "cli/commands.hpp"
#include "cli/completions.hpp"
#include "cli/suggestion.hpp"

namespace tyto::cli {
namespace {

struct Shell {
  std::string_view name;
  void (*print)(std::ostream& out);
};

constexpr Shell shells[] = {
    {"bash", print_bash_completion}, {"zsh", print_zsh_completion}, {"fish", print_fish_completion}};

int print_completion(const Arguments& arguments) {
  const std::string& name = arguments.only_operand("completion takes the name of one shell");
  const Shell* const shell = std::ranges::find(shells, name, &Shell::name);
  if (shell == std::end(shells)) {
    throw_error<UsageError>("completion is written for bash, zsh and fish, not for '", name, "'",
                            suggestion(name, {"bash", "zsh", "fish"}));
  }
  shell->print(std::cout);
  return done;
}

}  // namespace

const Command completion_command{
    "completion", "bash|zsh|fish", "writes what makes a shell complete commands and options", {}, print_completion};

}  // namespace tyto::cli
