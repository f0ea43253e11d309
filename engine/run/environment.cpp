// SPDX-License-Identifier: MIT
// The table of environment variables as users see it.
#include "tyto/environment.hpp"

#include "core/system/environment.hpp"

namespace tyto TYTO_API {

std::vector<EnvironmentEntry> environment() {
  std::vector<EnvironmentEntry> entries;
  for (const core::EnvironmentVariable& variable : core::environment_variables()) {
    const auto value = core::environment(variable.name);
    entries.push_back({std::string(variable.name), std::string(variable.values), std::string(variable.meaning),
                       value ? std::optional<std::string>(*value) : std::nullopt, !value || variable.accepts(*value)});
  }
  return entries;
}

}  // namespace TYTO_API
