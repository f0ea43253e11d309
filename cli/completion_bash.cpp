// SPDX-License-Identifier: MIT
// Completion for bash: one function that looks at the word in front.
#include <ostream>
#include <string>

#include "cli/commands.hpp"
#include "cli/completions.hpp"

namespace tyto::cli {
namespace {

/// One branch of a shell's `case`: what completes a word of this command, given the word before it.
void print_branch(std::ostream& out, const Command& command) {
  std::string options = "--help", with_file, with_other;
  for (const OptionRow& row : command.options) {
    options += " " + std::string(row.name);
    if (row.value.empty()) continue;
    std::string& list = row.takes_file() ? with_file : with_other;
    list += (list.empty() ? "" : "|") + std::string(row.name);
  }
  out << "    " << command.name << ")\n";
  if (!with_file.empty() || !with_other.empty()) out << "      case $before in\n";
  if (!with_file.empty()) {
    out << "        " << with_file << ") mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n";
  }
  if (!with_other.empty()) out << "        " << with_other << ") return ;;\n";
  if (!with_file.empty() || !with_other.empty()) out << "      esac\n";
  out << "      options=\"" << options << "\" ;;\n";
}

}  // namespace

void print_bash_completion(std::ostream& out) {
  std::string names;
  for (const Command& command : commands()) names += (names.empty() ? "" : " ") + std::string(command.name);
  out << "# Completions of tyto for bash; written by `tyto completion bash`.\n"
      << "_tyto() {\n"
      << "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=\"\"\n"
      << "  local commands=\"" << names << "\"\n"
      << "  COMPREPLY=()\n"
      << "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      << "    mapfile -t COMPREPLY < <(compgen -W \"$commands --help --version\" -- \"$word\")\n"
      << "    return\n"
      << "  fi\n"
      << "  if [ \"${COMP_WORDS[1]}\" = help ]; then\n"
      << "    mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$word\")\n"
      << "    return\n"
      << "  fi\n"
      << "  # Bash takes NAME=FILE for three words.\n"
      << "  if [ \"$word\" = = ] || [ \"$before\" = = ]; then\n"
      << "    mapfile -t COMPREPLY < <(compgen -f -- \"${word#=}\")\n"
      << "    return\n"
      << "  fi\n"
      << "  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands()) print_branch(out, command);
  out << "  esac\n"
      << "  case $word in\n"
      << "    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\") ;;\n"
      << "    *) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
      << "  esac\n"
      << "}\n"
      << "complete -o filenames -F _tyto tyto\n";
}

}  // namespace tyto::cli
