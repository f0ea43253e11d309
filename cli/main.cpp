// SPDX-License-Identifier: MIT
// The `tyto` program: finds the subcommand, reads its options, and turns exceptions into messages.
#include <algorithm>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tyto/error.hpp>
#include <tyto/onnx.hpp>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/standard_streams.hpp"

namespace tyto::cli {

std::span<const Command> commands() {
  static const Command table[] = {run_command,         show_command,   graph_command, plan_command,
                                  devices_command,     launch_command, scale_command, completion_command,
                                  environment_command, manual_command, help_command};
  return table;
}

namespace {

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

int run(std::span<const std::string> words) {
  if (words.empty()) {
    print_overview(std::cerr);
    return misused;
  }
  if (asks_for_help(words[0])) {
    print_overview(std::cout);
    return done;
  }
  if (words[0] == "--version") {
    print_version(std::cout);
    return done;
  }
  const Command& command = command_named(words[0]);
  words = words.subspan(1);
  // Words behind a program are its own options.
  const auto options_end = command.takes_program ? words.begin() + std::min<std::ptrdiff_t>(1, std::ssize(words))
                                                 : std::find(words.begin(), words.end(), "--");
  if (std::any_of(words.begin(), options_end, asks_for_help)) {
    print_help(std::cout, command);
    return done;
  }
  try {
    return command.run(Arguments(command.options, words, command.takes_program));
  } catch (const UsageError& error) {
    std::cerr << "tyto: " << error.what() << "; see tyto " << command.name << " --help\n";
    return misused;
  }
}

/// Limits of the library under the names of the options that set them.
std::string in_words_of_options(std::string message) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {{"max_bytes", "--max-memory"},
                                                                     {"max_iterations", "--max-iterations"}};
  for (const auto& [limit, option] : names) {
    if (const std::size_t at = message.find(limit); at != std::string::npos) message.replace(at, limit.size(), option);
  }
  return message;
}

int status_of(std::span<const std::string> words) {
  try {
    return run(words);
  } catch (const UsageError& error) {
    std::cerr << "tyto: " << error.what() << "; see tyto --help\n";
    return misused;
  } catch (const tyto::IoError& error) {
    std::cerr << "tyto: " << error.what() << "\n";
    return misused;
  } catch (const tyto::ValueError& error) {
    std::cerr << "tyto: " << error.what() << "\n";
    return misused;
  } catch (const tyto::LimitError& error) {
    std::cerr << "tyto: " << in_words_of_options(error.what()) << "\n";
    return refused;
  } catch (const std::exception& error) {
    std::cerr << "tyto: " << error.what() << "\n";
    return refused;
  }
}

}  // namespace
}  // namespace tyto::cli

int main(int count, char** words) {
  using namespace tyto::cli;
  occupy_closed_streams();
  const std::vector<std::string> given(words + (count > 0 ? 1 : 0), words + count);
  const int status = status_of(given);
  if (standard_output_is_written()) return status;
  std::cerr << "tyto: standard output cannot be written: what was to be printed is lost\n";
  return status == done ? refused : status;
}
