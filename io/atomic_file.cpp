// SPDX-License-Identifier: MIT
// Writes to a temporary file, flushes it and renames it.
#include "io/atomic_file.hpp"

#include <filesystem>
#include <system_error>

#include "io/refuse.hpp"

namespace tyto::io {

namespace {

// Follows symbolic links by hand, since the last may lead to a file that does not exist yet.
std::string behind_links(const std::string& path) {
  constexpr int most_links = 40;  // as many as Linux follows
  std::filesystem::path place = path;
  for (int i = 0; i < most_links; ++i) {
    std::error_code error;
    if (!std::filesystem::is_symlink(place, error) || error) return place.string();
    const std::filesystem::path next = std::filesystem::read_symlink(place, error);
    if (error) return place.string();
    place = next.is_absolute() ? next : place.parent_path() / next;
  }
  refuse(path, "cannot be written: too many symbolic links");
}

// Where the file is to stand.
std::string regular_target(const std::string& path) {
  std::string target = behind_links(path);
  std::error_code error;
  const std::filesystem::file_status old = std::filesystem::status(target, error);
  if (std::filesystem::exists(old) && !std::filesystem::is_regular_file(old)) {
    refuse(path, "cannot be written: it is no regular file");
  }
  return target;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : AtomicFile(path, regular_target(path)) {}

AtomicFile::AtomicFile(const std::string& path, const std::string& target) : file_(path, target + ".partial", target) {}

void AtomicFile::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  size_ += bytes.size();
}

}  // namespace tyto::io
