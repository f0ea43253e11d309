// SPDX-License-Identifier: MIT
// Reads files by ReadFile at a position.
#include "core/system/readable_file.hpp"

#include <algorithm>

#include "core/system/windows.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::core {

ReadableFile::ReadableFile(const std::string& path) : path_(path) {
  // With backup semantics a folder can be opened, so that the message below tells what it is.
  const HANDLE file =
      CreateFileW(windows::wide(path).c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                  nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) throw_error<IoError>(path, ": cannot be opened: ", windows::last_error());
  BY_HANDLE_FILE_INFORMATION known{};
  constexpr DWORD irregular = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE;
  if (GetFileType(file) != FILE_TYPE_DISK || GetFileInformationByHandle(file, &known) == 0 ||
      (known.dwFileAttributes & irregular) != 0) {
    CloseHandle(file);
    throw_error<IoError>(path, ": is no regular file");
  }
  handle_ = reinterpret_cast<std::intptr_t>(file);
  size_ = (std::uint64_t{known.nFileSizeHigh} << 32) | known.nFileSizeLow;
}

ReadableFile::~ReadableFile() { CloseHandle(reinterpret_cast<HANDLE>(handle_)); }

std::size_t ReadableFile::read(std::uint64_t offset, std::span<std::byte> target) const {
  OVERLAPPED at{};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32);
  constexpr std::size_t most = std::size_t{1} << 30;
  DWORD got = 0;
  if (ReadFile(reinterpret_cast<HANDLE>(handle_), target.data(), static_cast<DWORD>(std::min(target.size(), most)),
               &got, &at) == 0 &&
      GetLastError() != ERROR_HANDLE_EOF) {
    throw_error<IoError>(path_, ": cannot be read: ", windows::last_error());
  }
  return got;
}

}  // namespace tyto::core
