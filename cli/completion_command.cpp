// tyto completion: writes what makes bash complete commands, options and files, from the table of commands.
#include <algorithm>
#include <iostream>
#include <string>

#include "cli/commands.hpp"

namespace tyto::cli {
namespace {

bool takes_file(const OptionRow& row) {
  const auto says = [&](std::string_view word) { return row.value.find(word) != std::string_view::npos; };
  return says("FILE") || says("WHAT") || says(".");
}

std::string names_of_commands() {
  std::string names;
  for (const Command& command : commands()) names += (names.empty() ? "" : " ") + std::string(command.name);
  return names;
}

/// One branch of a shell's `case`: what completes a word of this command, given the word before it.
void print_branch(const Command& command) {
  std::string options = "--help", with_file, with_other;
  for (const OptionRow& row : command.options) {
    options += " " + std::string(row.name);
    if (row.value.empty()) continue;
    std::string& list = takes_file(row) ? with_file : with_other;
    list += (list.empty() ? "" : "|") + std::string(row.name);
  }
  std::cout << "    " << command.name << ")\n";
  if (!with_file.empty() || !with_other.empty()) std::cout << "      case $before in\n";
  if (!with_file.empty())
    std::cout << "        " << with_file << ") mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n";
  if (!with_other.empty()) std::cout << "        " << with_other << ") return ;;\n";
  if (!with_file.empty() || !with_other.empty()) std::cout << "      esac\n";
  std::cout << "      options=\"" << options << "\" ;;\n";
}

int print_completion(const Arguments& arguments) {
  if (arguments.operands().size() != 1 || arguments.operands().front() != "bash") {
    throw UsageError("completion takes the name of the shell: bash");
  }
  std::cout << "# Completions of tyto for bash; written by `tyto completion bash`.\n"
            << "_tyto() {\n"
            << "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=\"\"\n"
            << "  COMPREPLY=()\n"
            << "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
            << "    mapfile -t COMPREPLY < <(compgen -W \"" << names_of_commands()
            << " --help --version\" -- \"$word\")\n"
            << "    return\n"
            << "  fi\n"
            << "  # Bash takes NAME=FILE for three words.\n"
            << "  if [ \"$word\" = = ] || [ \"$before\" = = ]; then\n"
            << "    mapfile -t COMPREPLY < <(compgen -f -- \"${word#=}\")\n"
            << "    return\n"
            << "  fi\n"
            << "  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands()) print_branch(command);
  std::cout << "  esac\n"
            << "  case $word in\n"
            << "    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\") ;;\n"
            << "    *) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
            << "  esac\n"
            << "}\n"
            << "complete -o filenames -F _tyto tyto\n";
  return done;
}

}  // namespace

const Command completion_command{
    "completion", "bash", "writes what makes a shell complete commands and options", {}, print_completion};

}  // namespace tyto::cli
