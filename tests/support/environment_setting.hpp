// SPDX-License-Identifier: MIT
// Sets an environment variable for a while.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace tyto::testing {

/// The variable has this value, or none where it is null, while this is alive.
class EnvironmentSetting {
 public:
  EnvironmentSetting(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~EnvironmentSetting() { set(before_ ? before_->c_str() : nullptr); }
  EnvironmentSetting(const EnvironmentSetting&) = delete;
  EnvironmentSetting& operator=(const EnvironmentSetting&) = delete;

 private:
#if defined(_WIN32)
  void set(const char* value) const { _putenv_s(name_, value == nullptr ? "" : value); }
#else
  void set(const char* value) const { value == nullptr ? unsetenv(name_) : setenv(name_, value, 1); }
#endif

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace tyto::testing
