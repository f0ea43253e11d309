// SPDX-License-Identifier: MIT
// What this copy of the library was built with, and what of that works here.
#pragma once

#include <string>
#include <vector>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// A part that a build may have or lack, and how it stands: "oneDNN" and "2.6.3", "OpenCL" and "not built in".
struct BuildPart {
  std::string name;   ///< what it is called
  std::string state;  ///< whether it is there and works, in a few words
};

/// All such parts: instruction sets, generated machine code, libraries.
std::vector<BuildPart> build_info();

}  // namespace TYTO_API
