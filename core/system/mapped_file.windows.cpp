// SPDX-License-Identifier: MIT
// Maps files read-only by views of file mappings.
#include "core/system/mapped_file.hpp"

#include "core/system/pages.hpp"
#include "core/system/windows.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::core {

MappedFile::MappedFile(const std::string& path, bool follow_links) {
  // With backup semantics a folder can be opened, so that the message below tells what it is.
  const DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | (follow_links ? 0 : FILE_FLAG_OPEN_REPARSE_POINT);
  const windows::Handle file(CreateFileW(windows::wide(path).c_str(), GENERIC_READ,
                                         FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
                                         flags, nullptr));
  if (!file) throw_error<IoError>(path, ": cannot be opened: ", windows::last_error());
  BY_HANDLE_FILE_INFORMATION known{};
  constexpr DWORD irregular = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE;
  if (GetFileType(file.get()) != FILE_TYPE_DISK || GetFileInformationByHandle(file.get(), &known) == 0 ||
      (known.dwFileAttributes & irregular) != 0) {
    throw_error<IoError>(path, ": is no regular file");
  }
  if (!follow_links && windows::is_link(file.get())) {
    throw_error<IoError>(path, ": cannot be opened: it is a symbolic link");
  }
  if (!follow_links && known.nNumberOfLinks != 1) {
    throw_error<IoError>(path, ": has several names (hard links), which could stand for any file");
  }
  const std::size_t size = (std::size_t{known.nFileSizeHigh} << 32) | known.nFileSizeLow;
  if (size == 0) return;  // an empty file cannot be mapped, and has nothing to map
  const windows::Handle mapping(CreateFileMappingW(file.get(), nullptr, PAGE_READONLY, 0, 0, nullptr));
  const void* const memory = mapping ? MapViewOfFile(mapping.get(), FILE_MAP_READ, 0, 0, size) : nullptr;
  if (memory == nullptr) throw_error<IoError>(path, ": cannot be mapped into memory");
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) UnmapViewOfFile(bytes_.data());
}

void MappedFile::discard(std::span<const std::byte> part) const { discard_pages(part.data(), part.size()); }

}  // namespace tyto::core
