// SPDX-License-Identifier: MIT
// Completion for zsh: a list of commands, and one of options for each, as _arguments takes them.
#include <ostream>
#include <string>

#include "cli/commands.hpp"
#include "cli/completions.hpp"

namespace tyto::cli {
namespace {

/// The text in single quotes, with characters that zsh interprets in brackets and between colons escaped.
std::string zsh_words(std::string_view text) {
  std::string written;
  for (const char c : text) {
    if (c == '\'') written += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\') written += std::string("\\") + c;
    else written += c;
  }
  return written;
}

void print_zsh_option(std::ostream& out, const OptionRow& row) {
  out << "        '" << (row.repeats ? "*" : "") << row.name << (row.value.empty() ? "" : "=") << "["
      << zsh_words(row.help) << "]";
  if (!row.value.empty()) out << ":" << zsh_words(row.value) << ":" << (row.takes_file() ? "_files" : "");
  out << "' \\\n";
}

}  // namespace

void print_zsh_completion(std::ostream& out) {
  out << "#compdef tyto\n"
      << "# Completions of tyto for zsh; written by `tyto completion zsh`.\n"
      << "_tyto() {\n"
      << "  local -a commands=(\n";
  for (const Command& command : commands()) {
    out << "    '" << command.name << ":" << zsh_words(command.summary) << "'\n";
  }
  out << "  )\n"
      << "  if (( CURRENT == 2 )); then\n"
      << "    _describe command commands\n"
      << "    _arguments '--help[list the commands]' '--version[say which Tyto this is]'\n"
      << "    return\n"
      << "  fi\n"
      << "  case ${words[2]} in\n"
      << "    help) _describe command commands; return ;;\n"
      << "    completion) _values shell bash zsh fish; return ;;\n"
      << "  esac\n"
      << "  local command=${words[2]}\n"
      << "  shift words\n"
      << "  (( CURRENT-- ))\n"
      << "  case $command in\n";
  for (const Command& command : commands()) {
    if (command.options.empty()) continue;
    out << "    " << command.name << ")\n      _arguments \\\n";
    for (const OptionRow& row : command.options) print_zsh_option(out, row);
    out << "        '--help[describe the command]' '*:file:_files' ;;\n";
  }
  out << "  esac\n"
      << "}\n"
      // Sourced, it says what it completes; found in $fpath, it is the function's body.
      << "if [ \"$funcstack[1]\" = _tyto ]; then _tyto \"$@\"; else compdef _tyto tyto; fi\n";
}

}  // namespace tyto::cli
