// SPDX-License-Identifier: MIT
// Reads files by pread.
#include "core/system/readable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::core {

ReadableFile::ReadableFile(const std::string& path) : path_(path) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw_error<IoError>(path, ": cannot be opened: ", std::strerror(errno));
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw_error<IoError>(path, ": is no regular file");
  }
  handle_ = descriptor;
  size_ = static_cast<std::uint64_t>(status.st_size);
}

ReadableFile::~ReadableFile() { ::close(static_cast<int>(handle_)); }

std::size_t ReadableFile::read(std::uint64_t offset, std::span<std::byte> target) const {
  for (;;) {
    const ssize_t got = ::pread(static_cast<int>(handle_), target.data(), target.size(), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw_error<IoError>(path_, ": cannot be read: ", std::strerror(errno));
  }
}

}  // namespace tyto::core
