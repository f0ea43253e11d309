// SPDX-License-Identifier: MIT
// Mapping files read-only.
#include "onnx/file/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "onnx/file/message.hpp"

namespace tyto::onnx {

MappedFile::MappedFile(const std::string& path, bool follow_links) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow_links ? 0 : O_NOFOLLOW));
  if (descriptor < 0) refuse(path, "cannot be opened: ", std::strerror(errno));
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
  if (wrong != nullptr) refuse(path, wrong);
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::discard(std::span<const std::byte> part) const {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(part.data()) + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tyto::onnx
