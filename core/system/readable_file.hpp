// SPDX-License-Identifier: MIT
// A regular file that is read by position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tyto::core {

class ReadableFile {
 public:
  /// Throws IoError for what is no regular file.
  explicit ReadableFile(const std::string& path);
  ~ReadableFile();
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;

  /// When it was opened.
  std::uint64_t size() const { return size_; }
  /// Reads from `offset` on; how many bytes there were, 0 at the end of the file. Throws IoError where it cannot be
  /// read.
  std::size_t read(std::uint64_t offset, std::span<std::byte> target) const;

 private:
  std::string path_;
  std::intptr_t handle_;
  std::uint64_t size_ = 0;
};

}  // namespace tyto::core
