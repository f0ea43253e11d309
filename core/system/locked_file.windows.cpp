// SPDX-License-Identifier: MIT
// A file that is opened without sharing is locked.
#include "core/system/locked_file.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/system/windows.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::core {

namespace {

HANDLE handle_of(std::intptr_t handle) { return reinterpret_cast<HANDLE>(handle); }

}  // namespace

LockedFile::LockedFile(std::string name, std::string place, std::string target)
    : name_(std::move(name)), place_(std::move(place)), target_(std::move(target)) {
  const std::wstring wide = windows::wide(place_);
  constexpr DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  constexpr DWORD itself = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
  if (const windows::Handle before(
          CreateFileW(wide.c_str(), FILE_READ_ATTRIBUTES, shared, nullptr, OPEN_EXISTING, itself, nullptr));
      before && windows::is_link(before.get())) {
    throw_error<IoError>(name_, ": cannot be written: ", place_, " is a symbolic link");
  }
  const HANDLE file =
      CreateFileW(wide.c_str(), GENERIC_WRITE | DELETE, 0, nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    if (GetLastError() == ERROR_SHARING_VIOLATION) {
      throw_error<IoError>(name_, ": cannot be written: ", place_, " is being written already");
    }
    fail("cannot be written");
  }
  handle_ = reinterpret_cast<std::intptr_t>(file);
}

LockedFile::~LockedFile() {
  if (handle_ == -1) return;
  CloseHandle(handle_of(handle_));
  DeleteFileW(windows::wide(place_).c_str());
}

void LockedFile::fail(const char* what) const { throw_error<IoError>(name_, ": ", what, ": ", windows::last_error()); }

void LockedFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t most = std::size_t{1} << 30;
  while (!bytes.empty()) {
    DWORD written = 0;
    if (WriteFile(handle_of(handle_), bytes.data(), static_cast<DWORD>(std::min(bytes.size(), most)), &written,
                  nullptr) == 0) {
      fail("cannot be written");
    }
    bytes = bytes.subspan(written);
  }
}

void LockedFile::move_to_target() {
  if (FlushFileBuffers(handle_of(handle_)) == 0) fail("cannot be flushed to the disk");
  // Renamed by its handle, the file stays locked until it stands at its target.
  const std::wstring target = std::filesystem::absolute(path_of(target_)).wstring();
  std::vector<std::uint64_t> space(
      (sizeof(FILE_RENAME_INFO) + target.size() * sizeof(wchar_t)) / sizeof(std::uint64_t) + 1);
  auto* const wanted = reinterpret_cast<FILE_RENAME_INFO*>(space.data());
  wanted->ReplaceIfExists = TRUE;
  wanted->FileNameLength = static_cast<DWORD>(target.size() * sizeof(wchar_t));
  std::memcpy(wanted->FileName, target.data(), wanted->FileNameLength);
  const auto size = static_cast<DWORD>(space.size() * sizeof(std::uint64_t));
  if (SetFileInformationByHandle(handle_of(handle_), FileRenameInfo, wanted, size) == 0) {
    fail("cannot be renamed into place");
  }
  CloseHandle(handle_of(handle_));
  handle_ = -1;
}

}  // namespace tyto::core
