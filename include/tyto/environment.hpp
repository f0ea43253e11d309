// SPDX-License-Identifier: MIT
// Lists the environment variables that the library reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// A variable: what values it takes, what it is for, and the value that it has now.
struct EnvironmentEntry {
  std::string name;                  ///< what it is called
  std::string values;                ///< what may be written there
  std::string meaning;               ///< what it changes
  std::optional<std::string> value;  ///< what is set now
  bool is_accepted;                  ///< whether that is one of `values`
};

/// All variables that the library reads. A value that is not accepted is a ValueError when a device is first used.
std::vector<EnvironmentEntry> environment();

}  // namespace TYTO_API
