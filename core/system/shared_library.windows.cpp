// SPDX-License-Identifier: MIT
// Loads shared libraries by LoadLibraryEx.
#include "core/system/shared_library.hpp"

#include <filesystem>
#include <string>

#include "core/system/windows.hpp"

namespace tyto::core {

SharedLibrary::SharedLibrary(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (handle_ != nullptr) return;
    const std::wstring file = windows::wide(name);
    // A bare name is not looked for in the current folder.
    const bool is_bare = file.find_first_of(L"/\\:") == std::wstring::npos;
    handle_ = LoadLibraryExW(file.c_str(), nullptr, is_bare ? LOAD_LIBRARY_SEARCH_DEFAULT_DIRS : 0);
    if (handle_ == nullptr) error_ = std::string(name) + ": " + windows::last_error();
  }
}

void* SharedLibrary::address_of(const char* name) const {
  return handle_ == nullptr ? nullptr : reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), name));
}

std::string folder_of_this_library() {
  HMODULE module = nullptr;
  const auto* const here = reinterpret_cast<LPCWSTR>(&folder_of_this_library);
  if (GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, here,
                         &module) == 0) {
    return {};
  }
  wchar_t file[1024];
  const DWORD length = GetModuleFileNameW(module, file, static_cast<DWORD>(std::size(file)));
  if (length == 0 || length == std::size(file)) return {};
  const std::u8string folder = std::filesystem::path(file).parent_path().u8string();
  return {folder.begin(), folder.end()};
}

}  // namespace tyto::core
