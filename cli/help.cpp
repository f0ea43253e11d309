// The two texts of help.
#include "cli/help.hpp"

#include <algorithm>
#include <ostream>
#include <string>

namespace tyto::cli {

void print_overview(std::ostream& out) {
  std::size_t widest = 0;
  for (const Command& command : commands()) widest = std::max(widest, command.name.size());
  out << "usage: tyto COMMAND [OPTIONS] [FILES]\n\ncommands:\n";
  for (const Command& command : commands()) {
    out << "  " << command.name << std::string(widest + 2 - command.name.size(), ' ') << command.summary << "\n";
  }
  out << "\n`tyto COMMAND --help` describes a command; `tyto --version` says which Tyto this is.\n";
}

void print_help(std::ostream& out, const Command& command) {
  out << "usage: tyto " << command.name << (command.operands.empty() ? "" : " ") << command.operands
      << (command.options.empty() ? "" : " [OPTIONS]") << "\n\n"
      << command.summary << "\n";
  if (!command.options.empty()) out << "\noptions:\n";
  for (const OptionRow& row : command.options) {
    std::string left = std::string(row.name) + (row.value.empty() ? "" : " " + std::string(row.value));
    left.resize(std::max<std::size_t>(left.size() + 2, 24), ' ');
    out << "  " << left << row.help << "\n";
  }
}

}  // namespace tyto::cli
