// SPDX-License-Identifier: MIT
// Maps files read-only by mmap.
#include "core/system/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/system/pages.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::core {

MappedFile::MappedFile(const std::string& path, bool follow_links) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow_links ? 0 : O_NOFOLLOW));
  if (descriptor < 0) throw_error<IoError>(path, ": cannot be opened: ", std::strerror(errno));
  struct stat status {};
  const char* wrong = nullptr;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) wrong = "is no regular file";
  else if (!follow_links && status.st_nlink != 1)
    wrong = "has several names (hard links), which could stand for any file";
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = nullptr;
  // An empty file cannot be mapped, and has nothing to map.
  if (wrong == nullptr && size != 0) {
    memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) wrong = "cannot be mapped into memory";
  }
  ::close(descriptor);
  if (wrong != nullptr) throw_error<IoError>(path, ": ", wrong);
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::discard(std::span<const std::byte> part) const { discard_pages(part.data(), part.size()); }

}  // namespace tyto::core
