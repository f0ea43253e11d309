// Options and operands of one subcommand, read off the command line against a table of what it knows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tyto::cli {

/// A mistake on the command line; the program says so and points at --help.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct OptionRow {
  std::string_view name;   // with its dashes
  std::string_view value;  // what it takes, in capitals; empty for a switch
  std::string_view help;
  bool repeats = false;  // whether it may be given several times
};

class Arguments {
 public:
  /// `--name VALUE` and `--name=VALUE`; `--` ends the options. Throws UsageError for what the table does not know.
  Arguments(std::span<const OptionRow> known, std::span<const std::string> given);

  bool has(std::string_view name) const { return text(name).has_value(); }
  std::optional<std::string> text(std::string_view name) const;
  /// All values of an option that repeats, in the order given.
  std::vector<std::string> texts(std::string_view name) const;
  /// An integer of at least `least`.
  std::optional<std::int64_t> number(std::string_view name, std::int64_t least) const;
  const std::vector<std::string>& operands() const { return operands_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
  std::vector<std::string> operands_;
};

}  // namespace tyto::cli
