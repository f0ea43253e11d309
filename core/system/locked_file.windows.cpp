// SPDX-License-Identifier: MIT
// A file that is opened for nobody else is locked.
#include "core/system/locked_file.hpp"

#include <algorithm>

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
  const DWORD before = GetFileAttributesW(wide.c_str());
  if (before != INVALID_FILE_ATTRIBUTES && (before & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
    throw_error<IoError>(name_, ": cannot be written: ", place_, " is a symbolic link");
  }
  const HANDLE file =
      CreateFileW(wide.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
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
  CloseHandle(handle_of(handle_));  // what is open cannot be moved
  handle_ = -1;
  const std::wstring from = windows::wide(place_);
  if (MoveFileExW(from.c_str(), windows::wide(target_).c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) !=
      0) {
    return;
  }
  const DWORD reason = GetLastError();
  DeleteFileW(from.c_str());
  throw_error<IoError>(name_, ": cannot be renamed into place: ", windows::message_of(reason));
}

}  // namespace tyto::core
