// SPDX-License-Identifier: MIT
// Files opened and read by position.
#include "io/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/refuse.hpp"

namespace tyto::io {

void ByteSource::read(std::uint64_t offset, std::span<std::byte> target, const char* what) const {
  if (offset > size_ || target.size() > size_ - offset) {
    refuse(name_, "ends after ", size_, " bytes; ", what, " needs ", target.size(), " bytes from byte ", offset, " on");
  }
  read_inside(offset, target);
}

FileSource::FileSource(const std::string& path) : FileSource(path, open_regular(path)) {}

FileSource::Opened FileSource::open_regular(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) refuse(path, "cannot be opened: ", std::strerror(errno));
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    refuse(path, "is no regular file");
  }
  return {descriptor, static_cast<std::uint64_t>(status.st_size)};
}

FileSource::~FileSource() { ::close(descriptor_); }

void FileSource::read_inside(std::uint64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const ssize_t got = ::pread(descriptor_, target.data(), target.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(name(), "cannot be read: ", std::strerror(errno));
    if (got == 0) refuse(name(), "was cut short while it was read: it had ", size(), " bytes, now it has ", offset);
    target = target.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

void MemorySource::read_inside(std::uint64_t offset, std::span<std::byte> target) const {
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), target.size(), target.begin());
}

}  // namespace tyto::io
