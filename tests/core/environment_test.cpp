// SPDX-License-Identifier: MIT
// Environment variables are checked against their table: invalid values are refused by name.
#include <string>
#include <tuple>

#include <doctest/doctest.h>
#include <tyto/environment.hpp>

#include "core/system/environment.hpp"
#include "tests/support/environment_setting.hpp"

namespace tyto {
namespace {

using Setting = testing::EnvironmentSetting;

TEST_CASE("a value that an environment variable does not take is refused with those that it takes") {
  {
    const Setting right("TYTO_MEMORY", "bump");
    CHECK_NOTHROW(core::check_environment());
  }
  for (const auto& [name, value, wanted] :
       {std::tuple{"TYTO_POISON", "banana", "0 or 1"}, std::tuple{"TYTO_OPENCL_STYLE", "GPU", "cpu or gpu"},
        std::tuple{"TYTO_VERIFY", "yes", "0 or 1"}}) {
    const Setting setting(name, value);
    const std::string message = std::string("the environment has ") + name + "=" + value + "; it takes " + wanted;
    CHECK_THROWS_WITH_AS(core::check_environment(), message.c_str(), ValueError);
  }
  const Setting empty("TYTO_POISON", "");
  CHECK_NOTHROW(core::check_environment());
}

TEST_CASE("numbers of threads are integers from 1 to 1024") {
  const auto accepts = [](const char* value) {
    for (const core::EnvironmentVariable& variable : core::environment_variables()) {
      if (variable.name == "TYTO_THREADS") return variable.accepts(value);
    }
    return false;
  };
  for (const char* value : {"1", "2", "1024"}) CHECK(accepts(value));
  for (const char* value : {"0", "-1", "1025", "banana", "2x", "1.5", " 2", "99999999999999999999"})
    CHECK(!accepts(value));
}

TEST_CASE("the environment that users see has each variable with its value") {
  const Setting setting("TYTO_CHECK_PLANS", "maybe");
  std::size_t found = 0;
  for (const EnvironmentEntry& entry : environment()) {
    CHECK(!entry.meaning.empty());
    if (entry.name != "TYTO_CHECK_PLANS") continue;
    ++found;
    CHECK(entry.value == "maybe");
    CHECK(!entry.is_accepted);
  }
  CHECK(found == 1);
}

}  // namespace
}  // namespace tyto
