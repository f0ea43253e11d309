// SPDX-License-Identifier: MIT
// Suggests the known name that is nearest to an unknown one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tyto::cli {

/// " (did you mean 'run'?)" for the known name nearest to `word`, nothing where none is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

/// Throws IoError where there is no such file, with the name nearest to it in its folder.
void require_file(const std::filesystem::path& path);

}  // namespace tyto::cli
