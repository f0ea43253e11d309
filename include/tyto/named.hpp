// Something with a name: what parameter lists, checkpoints and archives are made of.
#pragma once

#include <string>
#include <vector>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

template <class T>
struct Named {
  std::string name;
  T value;
};

/// In the order in which they were made or lie in a file.
template <class T>
using NamedList = std::vector<Named<T>>;

}  // namespace TYTO_API
