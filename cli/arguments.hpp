// SPDX-License-Identifier: MIT
// Parses the options and operands of one subcommand by a table of the options that it takes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tyto/named.hpp>

namespace tyto::cli {

/// A mistake on the command line; the program says so and points at the command's --help.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws what only a message tells: throw_error<UsageError>("option ", name, " is given twice").
template <class Error>
[[noreturn]] void throw_error(const auto&... parts) {
  throw Error((std::ostringstream() << ... << parts).str());
}

struct OptionRow {
  std::string_view name;   // with its dashes
  std::string_view value;  // what it takes, in capitals; empty for a switch
  std::string_view help;
  bool repeats = false;  // whether it may be given several times

  /// Whether what it takes is a file, or may be one.
  constexpr bool takes_file() const {
    for (const std::string_view mark : {"FILE", "FOLDER", "WHAT", "."}) {
      if (value.find(mark) != std::string_view::npos) return true;
    }
    return false;
  }
};

class Arguments {
 public:
  /// `--name VALUE` and `--name=VALUE`; `--` ends the options, and so does the first operand where it is a program,
  /// whose words follow. Throws UsageError for what the table does not know.
  Arguments(std::span<const OptionRow> known, std::span<const std::string> given, bool takes_program = false);

  bool has(std::string_view name) const { return text(name).has_value(); }
  std::optional<std::string> text(std::string_view name) const;
  /// All values of an option that repeats, in the order given.
  std::vector<std::string> texts(std::string_view name) const;
  /// NAME=VALUE of all of them, each name once. `what` they take, as errors call it.
  NamedList<std::string> named(std::string_view name, std::string_view what = "NAME=VALUE") const;
  /// An integer from `least` to `most`.
  std::optional<std::int64_t> number(std::string_view name, std::int64_t least,
                                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  /// A finite number that is not negative.
  std::optional<double> real(std::string_view name) const;
  /// A number of bytes, at least 1: "4096", "64K", "512M", "2G".
  std::optional<std::int64_t> bytes(std::string_view name) const;
  const std::vector<std::string>& operands() const { return operands_; }
  /// The only operand. Throws UsageError: `takes`, such as "run takes one model", and how many there are.
  const std::string& only_operand(std::string_view takes) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
  std::vector<std::string> operands_;
};

/// The most threads that an option may ask for; as many as tyto::threads takes.
inline constexpr std::int64_t most_threads = 1024;

/// All of a text as a finite number, or nothing.
std::optional<double> finite_number(std::string_view text);

/// NAME and VALUE around the last equals sign: names may hold colons and slashes, but no equals sign that a file would
/// be found behind. Throws UsageError.
Named<std::string> name_and_value(const std::string& word, std::string_view option, std::string_view what);

}  // namespace tyto::cli
