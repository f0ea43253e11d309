// SPDX-License-Identifier: MIT
// What the halves for Windows share; nothing else includes it.
#pragma once

#define WIN32_LEAN_AND_MEAN
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace tyto::core::windows {

/// A name as the system takes it; ours are UTF-8.
inline std::wstring wide(const std::string& name) {
  return std::filesystem::path(std::u8string(name.begin(), name.end())).wstring();
}

/// What the system says of a code of GetLastError(), in one line.
inline std::string message_of(DWORD code) {
  // What portable code asks for most is said as everywhere.
  if (code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND) return "No such file or directory";
  if (code == ERROR_ACCESS_DENIED) return "Permission denied";
  char text[512];
  DWORD length = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, code, 0, text,
                                sizeof text, nullptr);
  while (length != 0 && static_cast<unsigned char>(text[length - 1]) <= ' ') --length;
  return length == 0 ? "error " + std::to_string(code) : std::string(text, length);
}

inline std::string last_error() { return message_of(GetLastError()); }

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
