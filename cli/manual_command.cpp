// SPDX-License-Identifier: MIT
// tyto manual: writes the manual page, in the language of man, from the table of commands.
#include <iostream>
#include <string>
#include <string_view>

#include <tyto/version.hpp>

#include <tyto/environment.hpp>
#include "cli/commands.hpp"

namespace tyto::cli {
namespace {

// Hyphens would be set as such, and a dot or quote at the beginning of a line is an instruction.
std::string escaped(std::string_view text) {
  std::string written;
  for (const char c : text) {
    if (c == '-') written += "\\-";
    else if (c == '\\') written += "\\e";
    else written += c;
  }
  if (!written.empty() && (written[0] == '.' || written[0] == '\'')) written.insert(0, "\\&");
  return written;
}

void print_command(const Command& command) {
  std::cout << ".SS \"tyto " << command.name << " " << escaped(command.operands) << "\"\n"
            << escaped(command.summary) << "\n";
  for (const OptionRow& row : command.options) {
    std::cout << ".TP\n.B " << escaped(row.name);
    if (!row.value.empty()) std::cout << " \\fI" << escaped(row.value) << "\\fR";
    std::cout << "\n" << escaped(row.help) << (row.repeats ? "; may be given several times" : "") << "\n";
  }
}

int print_manual(const Arguments& arguments) {
  if (!arguments.operands().empty()) throw UsageError("manual takes no operands");
  std::cout << ".TH TYTO 1 \"\" \"Tyto " << version() << "\" \"User Commands\"\n"
            << ".SH NAME\ntyto \\- runs models, and shows graphs, memory plans and devices\n"
            << ".SH SYNOPSIS\n.B tyto\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIFILES\\fR]\n"
            << ".SH COMMANDS\nOptions stand before or behind files; \\fB\\-\\-name VALUE\\fR and "
               "\\fB\\-\\-name=VALUE\\fR mean the same.\n";
  for (const Command& command : commands()) print_command(command);
  std::cout
      << ".SH EXIT STATUS\n.TP\n.B " << done << "\nit is done\n.TP\n.B " << refused
      << "\nit was understood, but cannot be done, an output differs from what is expected, or what was printed is "
         "lost\n.TP\n.B "
      << misused << "\nthe command line or a file is wrong\n.SH ENVIRONMENT\n";
  for (const EnvironmentEntry& entry : environment()) {
    std::cout << ".TP\n.B " << entry.name << "\n" << escaped(entry.meaning + " (" + entry.values + ")") << "\n";
  }
  std::cout << ".SH EXAMPLES\n.nf\n"
            << "tyto show model.onnx \\-\\-shape image=1,3,224,224\n"
            << "tyto run model.onnx \\-\\-input image=cat.jpg \\-\\-output scores=scores.npy \\-\\-time 20\n"
            << "tyto run model.onnx \\-\\-inputs test_data_set_0 \\-\\-expect test_data_set_0\n"
            << "tyto run model.onnx \\-\\-html model.html\n.fi\n";
  return done;
}

}  // namespace

const Command manual_command{"manual", "", "writes this manual page, for man", {}, print_manual};

}  // namespace tyto::cli
