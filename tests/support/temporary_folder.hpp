// SPDX-License-Identifier: MIT
// A folder of its own for a test, gone when the test is over.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <system_error>

namespace tyto::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::random_device number;
    do {
      path_ = std::filesystem::temp_directory_path() / ("tyto-test-" + std::to_string(number()));
    } while (!std::filesystem::create_directory(path_));
  }
  ~TemporaryFolder() {
    std::error_code ignored;  // a folder that stays behind is no reason to end the program
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace tyto::testing
