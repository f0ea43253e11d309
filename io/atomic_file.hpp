// SPDX-License-Identifier: MIT
// Atomic writing of files: a file appears under its name when it is complete, and not at all when writing it fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/system/locked_file.hpp"

namespace tyto::io {

/// Written beside its place as `path.partial`, flushed to the disk, and renamed into place by commit(). A kill at any
/// moment leaves the old file or the new one; a partial file that a kill left behind is overwritten the next time. A
/// symbolic link stays one: the file that it leads to is replaced. What is there already and is no regular file, such
/// as a folder or a device, is refused. The new file has the permissions of the old.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);

  void write(std::span<const std::byte> bytes);
  std::uint64_t size() const { return size_; }
  void commit() { file_.move_to_target(); }

 private:
  AtomicFile(const std::string& path, const std::string& target);

  core::LockedFile file_;
  std::uint64_t size_ = 0;
};

}  // namespace tyto::io
