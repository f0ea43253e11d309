// SPDX-License-Identifier: MIT
// Completion for fish: a line for each command and each option.
#include <ostream>
#include <string>

#include "cli/commands.hpp"
#include "cli/completions.hpp"

namespace tyto::cli {
namespace {

std::string fish_word(std::string_view text) {
  std::string written = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') written += '\\';
    written += c;
  }
  return written + "'";
}

}  // namespace

void print_fish_completion(std::ostream& out) {
  std::string names;
  for (const Command& command : commands()) names += (names.empty() ? "" : " ") + std::string(command.name);
  out << "# Completions of tyto for fish; written by `tyto completion fish`.\n"
      << "complete -c tyto -n __fish_use_subcommand -f\n"
      << "complete -c tyto -n __fish_use_subcommand -l help -d 'list the commands'\n"
      << "complete -c tyto -n __fish_use_subcommand -l version -d 'say which Tyto this is'\n";
  for (const Command& command : commands()) {
    const std::string name(command.name), within = " -n '__fish_seen_subcommand_from " + name + "'";
    out << "complete -c tyto -n __fish_use_subcommand -a " << name << " -d " << fish_word(command.summary) << "\n";
    for (const OptionRow& row : command.options) {
      out << "complete -c tyto" << within << " -l " << row.name.substr(2);
      if (!row.value.empty()) out << (row.takes_file() ? " -r" : " -x");
      out << " -d " << fish_word(row.help) << "\n";
    }
    out << "complete -c tyto" << within << " -l help -d 'describe the command'\n";
  }
  out << "complete -c tyto -n '__fish_seen_subcommand_from help' -f -a " << fish_word(names) << "\n"
      << "complete -c tyto -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
}

}  // namespace tyto::cli
