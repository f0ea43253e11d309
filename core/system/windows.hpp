// SPDX-License-Identifier: MIT
// Declarations that the sources for Windows in this folder share; nothing else includes it.
#pragma once

#define WIN32_LEAN_AND_MEAN
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>

#include <string>

#include "core/system/path.hpp"

namespace tyto::core::windows {

/// A file's name in UTF-16, as the system takes it. Throws IoError where the name is not UTF-8.
inline std::wstring wide(const std::string& name) { return path_of(name).wstring(); }

/// The system's message, in UTF-8 and on one line, for a code of GetLastError().
inline std::string message_of(DWORD code) {
  // The two commonest errors have the same message on every system.
  if (code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND) return "No such file or directory";
  if (code == ERROR_ACCESS_DENIED) return "Permission denied";
  wchar_t text[512];
  constexpr DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK;
  DWORD length = FormatMessageW(flags, nullptr, code, 0, text, sizeof text / sizeof *text, nullptr);
  while (length != 0 && text[length - 1] <= L' ') --length;
  char message[3 * sizeof text / sizeof *text];
  const int bytes = length == 0 ? 0
                                : WideCharToMultiByte(CP_UTF8, 0, text, static_cast<int>(length), message,
                                                      static_cast<int>(sizeof message), nullptr, nullptr);
  return bytes == 0 ? "error " + std::to_string(code) : std::string(message, static_cast<std::size_t>(bytes));
}

inline std::string last_error() { return message_of(GetLastError()); }

/// Whether the file is a symbolic link or a mount point; other reparse points, such as files kept in a cloud, are not.
inline bool is_link(HANDLE file) {
  FILE_ATTRIBUTE_TAG_INFO known{};
  return GetFileInformationByHandleEx(file, FileAttributeTagInfo, &known, sizeof known) != 0 &&
         (known.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
         (known.ReparseTag == IO_REPARSE_TAG_SYMLINK || known.ReparseTag == IO_REPARSE_TAG_MOUNT_POINT);
}

/// Closes what it holds.
class Handle {
 public:
  explicit Handle(HANDLE handle) : handle_(handle) {}
  ~Handle() {
    if (*this) CloseHandle(handle_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  explicit operator bool() const { return handle_ != nullptr && handle_ != INVALID_HANDLE_VALUE; }
  HANDLE get() const { return handle_; }

 private:
  HANDLE handle_;
};

}  // namespace tyto::core::windows
