// Writing beside, flushing, renaming.
#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "io/refuse.hpp"

namespace tyto::io {

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), partial_(path_ + ".partial") { open_partial(); }

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
  if (::fsync(descriptor_) != 0) fail("cannot be flushed to the disk");
  if (::rename(partial_.c_str(), path_.c_str()) != 0) fail("cannot be renamed into place");
  ::close(descriptor_);
  descriptor_ = -1;
  // The rename itself is durable once the directory is; a system that cannot flush directories has done its best.
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path_.substr(0, slash);
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  (void)::fsync(directory);
  ::close(directory);
}

}  // namespace tyto::io
