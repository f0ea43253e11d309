// SPDX-License-Identifier: MIT
// A shared library that is loaded when it is first needed: a process that never needs it has none of its pages.
#pragma once

#include <initializer_list>

namespace tyto::core {

class SharedLibrary {
 public:
  /// Loads the first of these that the system has. It stays loaded.
  explicit SharedLibrary(std::initializer_list<const char*> names);

  bool is_loaded() const { return handle_ != nullptr; }

  /// Its function of that name; null where there is none.
  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address_of(name));
  }

 private:
  void* address_of(const char* name) const;

  void* handle_ = nullptr;
};

}  // namespace tyto::core
