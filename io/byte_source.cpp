// SPDX-License-Identifier: MIT
// Reads files and memory by position.
#include "io/byte_source.hpp"

#include <algorithm>

#include "io/refuse.hpp"

namespace tyto::io {

void ByteSource::read(std::uint64_t offset, std::span<std::byte> target, const char* what) const {
  if (offset > size_ || target.size() > size_ - offset) {
    refuse(name_, "ends after ", size_, " bytes; ", what, " needs ", target.size(), " bytes from byte ", offset, " on");
  }
  read_inside(offset, target);
}

void FileSource::read_inside(std::uint64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const std::size_t got = file_->read(offset, target);
    if (got == 0) refuse(name(), "was cut short while it was read: it had ", size(), " bytes, now it has ", offset);
    target = target.subspan(got);
    offset += got;
  }
}

void MemorySource::read_inside(std::uint64_t offset, std::span<std::byte> target) const {
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), target.size(), target.begin());
}

}  // namespace tyto::io
