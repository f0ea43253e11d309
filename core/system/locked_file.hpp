// SPDX-License-Identifier: MIT
// A file that has one writer at a time, and atomically replaces another when it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tyto::core {

class LockedFile {
 public:
  /// Creates the file at `place`, which will be moved to `target`; messages call it `name`. Throws IoError where it
  /// cannot be made, is a symbolic link or is being written already.
  LockedFile(std::string name, std::string place, std::string target);
  /// Removes the file unless it was moved.
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Flushes the file to the disk and moves it to its target, whose permissions it takes where there is one; on Windows
  /// it has those that its folder gives to new files.
  void move_to_target();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string name_, place_, target_;
  std::intptr_t handle_ = -1;
};

}  // namespace tyto::core
