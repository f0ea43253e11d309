// SPDX-License-Identifier: MIT
// A file that appears under its name when it is complete, and not at all when writing it is broken off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tyto::io {

/// Written beside its place as `path.partial`, flushed to the disk, and renamed into place by commit(). A kill at any
/// moment leaves the old file or the new one; a partial file that a kill left behind is overwritten the next time. A
/// symbolic link stays one: the file that it leads to is replaced. What is there already and is no regular file, such
/// as a folder or a device, is refused. The new file has the permissions of the old.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  /// Removes what was written unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  std::uint64_t size() const { return size_; }
  void commit();

 private:
  void open_partial();
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string target_;  // where the links of path_ lead to
  std::string partial_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace tyto::io
