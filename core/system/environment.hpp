// The environment variables that Tyto reads, in one table: pages, the program and the check of their values come from
// it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tyto::core {

struct EnvironmentVariable {
  std::string_view name;
  std::string_view values;  // in words: "0 or 1"
  std::string_view meaning;
  bool (*accepts)(std::string_view value);
};

/// All of them, in the order of the pages.
std::span<const EnvironmentVariable> environment_variables();

/// The value of a variable of the table; empty where it is not set. Values were checked by check_environment.
std::optional<std::string_view> environment(std::string_view name);

/// Whether a variable that takes 0 or 1 is 1.
bool environment_flag(std::string_view name);

/// Throws ValueError where a variable of the table has a value that it does not take; an empty one is none. Names that
/// begin like ours but are in no table are told of once, on standard error.
void check_environment();

}  // namespace tyto::core
