// SPDX-License-Identifier: MIT
// The optional parts that this copy of the library was built with, and whether each works here.
#pragma once

#include <string>
#include <vector>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// An optional part of a build, and its state: "oneDNN" and "2.6.3", "OpenCL" and "not built in".
struct BuildPart {
  std::string name;   ///< what it is called
  std::string state;  ///< whether it is there and works, in a few words
};

/// All such parts: instruction sets, generated machine code, libraries.
std::vector<BuildPart> build_info();

}  // namespace TYTO_API
