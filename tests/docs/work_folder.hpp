// SPDX-License-Identifier: MIT
// A folder for rows that write files.
#pragma once

#include <filesystem>

#include "tests/support/temporary_folder.hpp"

namespace documented {

/// A folder of its own to work in, removed in the end.
class WorkFolder {
 public:
  WorkFolder() : before_(std::filesystem::current_path()) { std::filesystem::current_path(folder_.path()); }
  ~WorkFolder() { std::filesystem::current_path(before_); }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

 private:
  std::filesystem::path before_;
  tyto::testing::TemporaryFolder folder_;
};

}  // namespace documented
