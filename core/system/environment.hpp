// SPDX-License-Identifier: MIT
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

/// All environment variables, in the order of the manual's pages.
std::span<const EnvironmentVariable> environment_variables();

/// The value of a variable of the table; empty where it is not set, or set to nothing (but for TYTO_CACHE_DIR).
std::optional<std::string_view> environment(std::string_view name);

/// Whether a variable that takes 0 or 1 is 1. Throws ValueError where it is neither.
bool environment_flag(std::string_view name);

/// Throws ValueError where a variable of the table has a value that it does not take. Names that are nearly one of the
/// table's are reported once, on standard error.
void check_environment();

}  // namespace tyto::core
