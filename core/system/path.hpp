// SPDX-License-Identifier: MIT
// Names of files: UTF-8 in Tyto, converted to the encoding of the system.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "tyto/error.hpp"

namespace tyto::core {

/// The path of a name in UTF-8, for streams and std::filesystem, which on Windows would take it for text in the code
/// page of the process. Throws IoError where the system needs UTF-8 and the name is not.
inline std::filesystem::path path_of(const std::string& name) {
  try {
    return {std::u8string(name.begin(), name.end())};
  } catch (const std::system_error&) {
    throw IoError(name + ": is no name of a file, as it is not UTF-8");
  }
}

}  // namespace tyto::core
