// The `tyto` program: finds the subcommand, reads its options, and turns exceptions into messages.
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <tyto/error.hpp>
#include <tyto/version.hpp>

#include "cli/commands.hpp"
#include "cli/help.hpp"

namespace tyto::cli {

std::span<const Command> commands() {
  static const Command table[] = {run_command,     show_command,       graph_command, plan_command,
                                  devices_command, completion_command, manual_command};
  return table;
}

namespace {

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
        print_help(std::cout, command);
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
