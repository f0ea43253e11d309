// SPDX-License-Identifier: MIT
// Writing beside, flushing, renaming.
#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "io/refuse.hpp"

namespace tyto::io {

namespace {

constexpr mode_t permissions = 0777;

// Follows symbolic links by hand, since the last may lead to a file that does not exist yet.
std::string behind_links(const std::string& path) {
  constexpr int most_links = 40;  // as many as Linux follows
  std::filesystem::path place = path;
  for (int i = 0; i < most_links; ++i) {
    std::error_code error;
    if (!std::filesystem::is_symlink(place, error) || error) return place;
    const std::filesystem::path next = std::filesystem::read_symlink(place, error);
    if (error) return place;
    place = next.is_absolute() ? next : place.parent_path() / next;
  }
  refuse(path, "cannot be written: too many symbolic links");
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), target_(behind_links(path_)), partial_(target_ + ".partial") {
  struct stat old {};
  if (::stat(target_.c_str(), &old) == 0 && !S_ISREG(old.st_mode)) {
    refuse(path_, "cannot be written: it is no regular file");
  }
  open_partial();
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::unlink(partial_.c_str());
  ::close(descriptor_);
}

void AtomicFile::fail(const char* what) const { refuse(path_, what, ": ", std::strerror(errno)); }

// The lock keeps two writers apart and is let go by the system when one is killed. Whoever gets it must make sure that
// the name still means the file that was locked: the one before may just have renamed it.
void AtomicFile::open_partial() {
  for (;;) {
    const int descriptor = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) fail("cannot be written");
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      ::close(descriptor);
      refuse(path_, "cannot be written: ", partial_, " is being written already");
    }
    struct stat mine {};
    struct stat named {};
    const bool same = ::fstat(descriptor, &mine) == 0 && ::stat(partial_.c_str(), &named) == 0 &&
                      mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
    if (!same) {
      ::close(descriptor);
      continue;
    }
    descriptor_ = descriptor;
    if (::ftruncate(descriptor_, 0) != 0) fail("cannot be written");
    // What was private is so while it is written, too. The owner may write to what a kill leaves behind.
    struct stat old {};
    if (::stat(target_.c_str(), &old) == 0) (void)::fchmod(descriptor_, (old.st_mode & permissions) | S_IWUSR);
    return;
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
}

void AtomicFile::commit() {
  struct stat old {};
  if (::stat(target_.c_str(), &old) == 0 && ::fchmod(descriptor_, old.st_mode & permissions) != 0) {
    fail("cannot be given the permissions of the file that it replaces");
  }
  if (::fsync(descriptor_) != 0) fail("cannot be flushed to the disk");
  if (::rename(partial_.c_str(), target_.c_str()) != 0) fail("cannot be renamed into place");
  ::close(descriptor_);
  descriptor_ = -1;
  // The rename itself is durable once the directory is; a system that cannot flush directories has done its best.
  const std::size_t slash = target_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : target_.substr(0, slash);
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  (void)::fsync(directory);
  ::close(directory);
}

}  // namespace tyto::io
