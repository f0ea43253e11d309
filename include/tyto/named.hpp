// SPDX-License-Identifier: MIT
// Something with a name: what parameter lists, checkpoints and archives are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// A value with a name.
template <class T>
struct Named {
  std::string name;  ///< by which it is found
  T value;           ///< the value of that name
};

/// In the order in which they were made or lie in a file; looked up by number or by name.
///
///     auto arrays = read_npz<Tensor>("both.npz");   // arrays["x"], arrays[0].value
template <class T>
class NamedList : public std::vector<Named<T>> {
 public:
  using std::vector<Named<T>>::vector;
  using std::vector<Named<T>>::operator[];

  /// The value of that name. Throws IndexError, which lists the names that there are.
  const T& operator[](std::string_view name) const {
    if (const T* value = find(name)) return *value;
    std::string names;
    for (const Named<T>& each : *this) names += (names.empty() ? "" : ", ") + each.name;
    throw IndexError("nothing is called '" + std::string(name) + "' among " + (names.empty() ? "no names" : names));
  }
  /// The value of that name, or null.
  const T* find(std::string_view name) const {
    for (const Named<T>& each : *this) {
      if (each.name == name) return &each.value;
    }
    return nullptr;
  }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
};

}  // namespace TYTO_API
