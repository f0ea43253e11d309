// SPDX-License-Identifier: MIT
// Loads shared libraries by the dynamic linker.
#include "core/system/shared_library.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <filesystem>
#include <system_error>

namespace tyto::core {

SharedLibrary::SharedLibrary(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (handle_ != nullptr) return;
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) continue;
    const char* const reason = dlerror();
    error_ = reason == nullptr ? "unknown reason" : reason;
  }
}

void* SharedLibrary::address_of(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

std::string folder_of_this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&folder_of_this_library), &info) == 0 || info.dli_fname == nullptr) return {};
  std::string file = info.dli_fname;
  // For a program the linker returns argv[0]: a name found in PATH, or a path relative to the folder current at start.
  Dl_info program{};
  const auto* const headers = reinterpret_cast<const void*>(getauxval(AT_PHDR));
  if (dladdr(headers, &program) != 0 && program.dli_fbase == info.dli_fbase) {
    std::error_code unknown;
    file = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
  } else {
    file = std::filesystem::absolute(file).string();
  }
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash);
}

}  // namespace tyto::core
