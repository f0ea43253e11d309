// SPDX-License-Identifier: MIT
// Memory-mapped files: pages are read when they are accessed, and dropped when memory is short.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tyto::core {

class MappedFile {
 public:
  /// Throws IoError for what is no regular file. `follow_links` false refuses a path whose last part is a symbolic
  /// link, and a file that has other names (hard links) too.
  explicit MappedFile(const std::string& path, bool follow_links = true);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

  bool holds(std::span<const std::byte> part) const {
    return part.data() >= bytes_.data() && part.data() + part.size() <= bytes_.data() + bytes_.size();
  }
  /// Lets the system drop the pages within a part of the file: later reads load them from the file again.
  void discard(std::span<const std::byte> part) const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace tyto::core
