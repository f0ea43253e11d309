// SPDX-License-Identifier: MIT
// Tells whether this build of the library has an optional part.
#pragma once

#include <string_view>

#include <tyto/build_info.hpp>

namespace tyto_test {

/// By its name in build_info(): built_with("Eigen").
inline bool built_with(std::string_view part) {
  for (const tyto::BuildPart& each : tyto::build_info()) {
    if (each.name == part) return each.state == "built in";
  }
  return false;
}

}  // namespace tyto_test
