// SPDX-License-Identifier: MIT
// Locks by flock, which the system releases when the writer is killed.
#include "core/system/locked_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::core {

namespace {

constexpr mode_t permissions = 0777;

}  // namespace

// Whoever gets the lock must make sure that the name still means the file that was locked: the one before may just have
// moved it.
LockedFile::LockedFile(std::string name, std::string place, std::string target)
    : name_(std::move(name)), place_(std::move(place)), target_(std::move(target)) {
  for (;;) {
    const int descriptor = ::open(place_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) fail("cannot be written");
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      ::close(descriptor);
      throw_error<IoError>(name_, ": cannot be written: ", place_, " is being written already");
    }
    struct stat mine {};
    struct stat named {};
    const bool same = ::fstat(descriptor, &mine) == 0 && ::stat(place_.c_str(), &named) == 0 &&
                      mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
    if (!same) {
      ::close(descriptor);
      continue;
    }
    if (::ftruncate(descriptor, 0) != 0) {
      const int reason = errno;
      ::close(descriptor);
      errno = reason;
      fail("cannot be written");
    }
    handle_ = descriptor;
    // With the old file's permissions; the owner may also write, as to a file that a killed process left behind.
    struct stat old {};
    if (::stat(target_.c_str(), &old) == 0) (void)::fchmod(descriptor, (old.st_mode & permissions) | S_IWUSR);
    return;
  }
}

LockedFile::~LockedFile() {
  if (handle_ < 0) return;
  ::unlink(place_.c_str());
  ::close(static_cast<int>(handle_));
}

void LockedFile::fail(const char* what) const { throw_error<IoError>(name_, ": ", what, ": ", std::strerror(errno)); }

void LockedFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(static_cast<int>(handle_), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void LockedFile::move_to_target() {
  const int descriptor = static_cast<int>(handle_);
  struct stat old {};
  if (::stat(target_.c_str(), &old) == 0 && ::fchmod(descriptor, old.st_mode & permissions) != 0) {
    fail("cannot be given the permissions of the file that it replaces");
  }
  if (::fsync(descriptor) != 0) fail("cannot be flushed to the disk");
  if (::rename(place_.c_str(), target_.c_str()) != 0) fail("cannot be renamed into place");
  ::close(descriptor);
  handle_ = -1;
  // The rename itself is durable once the directory is; a system that cannot flush directories has done its best.
  const std::size_t slash = target_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : target_.substr(0, slash);
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  (void)::fsync(directory);
  ::close(directory);
}

}  // namespace tyto::core
