// The `tyto` program: finds the subcommand, reads its options, and turns exceptions into messages.
#include <algorithm>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <tyto/error.hpp>
#include <tyto/version.hpp>

#include "cli/commands.hpp"

namespace tyto::cli {

std::span<const Command> commands() {
  static const Command table[] = {plan_command, graph_command, run_command, show_command, devices_command};
  return table;
}

namespace {

void print_overview(std::ostream& out) {
  out << "usage: tyto COMMAND [OPTIONS] [FILES]\n\ncommands:\n";
  for (const Command& command : commands()) out << "  " << command.name << "  " << command.summary << "\n";
  out << "\n`tyto COMMAND --help` describes a command; `tyto --version` says which Tyto this is.\n";
}

void print_help(const Command& command) {
  std::cout << "usage: tyto " << command.name << " " << command.operands << " [OPTIONS]\n\n"
            << command.summary << "\n\noptions:\n";
  for (const OptionRow& row : command.options) {
    std::string left = std::string(row.name) + (row.value.empty() ? "" : " " + std::string(row.value));
    left.resize(std::max<std::size_t>(left.size() + 2, 24), ' ');
    std::cout << "  " << left << row.help << "\n";
  }
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) {
    print_overview(std::cerr);
    return misused;
  }
  if (words[0] == "--help" || words[0] == "help") {
    print_overview(std::cout);
    return done;
  }
  if (words[0] == "--version") {
    std::cout << "tyto " << version() << "\n";
    return done;
  }
  for (const Command& command : commands()) {
    if (command.name != words[0]) continue;
    for (const std::string& word : words) {
      if (word == "--help") {
        print_help(command);
        return done;
      }
    }
    return command.run(Arguments(command.options, std::span(words).subspan(1)));
  }
  throw UsageError("unknown command '" + words[0] + "'");
}

}  // namespace
}  // namespace tyto::cli

int main(int count, char** words) {
  using namespace tyto::cli;
  try {
    return run({words + 1, words + count});
  } catch (const UsageError& error) {
    std::cerr << "tyto: " << error.what() << "; see tyto --help\n";
    return misused;
  } catch (const tyto::IoError& error) {
    std::cerr << "tyto: " << error.what() << "\n";
    return misused;
  } catch (const tyto::ValueError& error) {
    std::cerr << "tyto: " << error.what() << "\n";
    return misused;
  } catch (const std::exception& error) {
    std::cerr << "tyto: " << error.what() << "\n";
    return refused;
  }
}
