// SPDX-License-Identifier: MIT
// Writes the texts of `--help`.
#include "cli/help.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>

#include <tyto/build_info.hpp>
#include <tyto/version.hpp>

#include "cli/suggestion.hpp"

namespace tyto::cli {

const Command& command_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  throw_error<UsageError>("unknown command '", name, "'", suggestion(name, names));
}

void print_overview(std::ostream& out) {
  std::size_t widest = 0;
  for (const Command& command : commands()) widest = std::max(widest, command.name.size());
  out << "usage: tyto COMMAND [OPTIONS] [FILES]\n\ncommands:\n";
  for (const Command& command : commands()) {
    out << "  " << command.name << std::string(widest + 2 - command.name.size(), ' ') << command.summary << "\n";
  }
  out << "\n`tyto help COMMAND` or `tyto COMMAND --help` describes a command; `tyto --version` says which Tyto this is "
         "and\n"
         "what it was built with.\n";
}

namespace {

constexpr std::size_t help_column = 28, line_width = 110;

/// The words of a text in lines that begin at help_column, where the first one does already.
void print_wrapped(std::ostream& out, const std::string& text) {
  std::size_t at = help_column;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (at > help_column && at + 1 + word.size() > line_width) {
      out << "\n" << std::string(help_column, ' ');
      at = help_column;
    } else if (at > help_column) {
      out << ' ';
      ++at;
    }
    out << word;
    at += word.size();
  }
  out << "\n";
}

}  // namespace

void print_help(std::ostream& out, const Command& command) {
  const std::string_view options = command.options.empty() ? "" : " [OPTIONS]";
  out << "usage: tyto " << command.name << (command.takes_program ? options : "")
      << (command.operands.empty() ? "" : " ") << command.operands << (command.takes_program ? "" : options) << "\n\n"
      << command.summary << "\n";
  if (!command.options.empty()) out << "\noptions:\n";
  for (const OptionRow& row : command.options) {
    std::string left = "  " + std::string(row.name) + (row.value.empty() ? "" : " " + std::string(row.value));
    if (left.size() + 2 > help_column) left += "\n" + std::string(help_column, ' ');
    else left.resize(help_column, ' ');
    out << left;
    print_wrapped(out, std::string(row.help) + (row.repeats ? "; may be given several times" : ""));
  }
}

void print_version(std::ostream& out) {
  out << "tyto " << version() << "\n";
  for (const BuildPart& part : build_info()) {
    out << "  " << part.name << std::string(std::max<std::size_t>(18, part.name.size() + 1) - part.name.size(), ' ')
        << part.state << "\n";
  }
}

}  // namespace tyto::cli
