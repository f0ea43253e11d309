// SPDX-License-Identifier: MIT
// A shared library that is loaded at its first use: a process that never uses it has none of its pages.
#pragma once

#include <initializer_list>
#include <string>

namespace tyto::core {

class SharedLibrary {
 public:
  /// Loads the first of these that the system has. It stays loaded.
  explicit SharedLibrary(std::initializer_list<const char*> names);

  bool is_loaded() const { return handle_ != nullptr; }
  /// Why the last of the names could not be loaded.
  const std::string& error() const { return error_; }

  /// Its function of that name; null where there is none.
  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address_of(name));
  }

 private:
  void* address_of(const char* name) const;

  void* handle_ = nullptr;
  std::string error_;
};

/// The folder of the file, library or program, that this code was loaded from; empty where the system cannot name it.
std::string folder_of_this_library();

}  // namespace tyto::core
