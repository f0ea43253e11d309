// SPDX-License-Identifier: MIT
// Byte sources with random access: a file, or memory that stands for one in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/system/readable_file.hpp"

namespace tyto::io {

class ByteSource {
 public:
  ByteSource(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Its name in messages.
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  /// Fills `target`; throws IoError naming `what` when the bytes from `offset` on are not there.
  void read(std::uint64_t offset, std::span<std::byte> target, const char* what) const;

 private:
  virtual void read_inside(std::uint64_t offset, std::span<std::byte> target) const = 0;

  std::string name_;
  std::uint64_t size_;
};

/// A file of the file system, open for reading as long as this lives. Its size is the one it has when it is opened.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : FileSource(path, std::make_unique<core::ReadableFile>(path)) {}

 private:
  FileSource(const std::string& path, std::unique_ptr<core::ReadableFile> file)
      : ByteSource(path, file->size()), file_(std::move(file)) {}
  void read_inside(std::uint64_t offset, std::span<std::byte> target) const override;

  std::unique_ptr<core::ReadableFile> file_;
};

/// Borrowed memory.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes)
      : ByteSource(std::move(name), bytes.size()), bytes_(bytes) {}

 private:
  void read_inside(std::uint64_t offset, std::span<std::byte> target) const override;

  std::span<const std::byte> bytes_;
};

}  // namespace tyto::io
