// SPDX-License-Identifier: MIT
// Loading shared libraries through the dynamic linker.
#include "core/system/shared_library.hpp"

#include <dlfcn.h>

namespace tyto::core {

SharedLibrary::SharedLibrary(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (handle_ == nullptr) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
}

void* SharedLibrary::address_of(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

}  // namespace tyto::core
