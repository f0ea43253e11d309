// SPDX-License-Identifier: MIT
// Prints a value to a string.
#pragma once

#include <sstream>
#include <string>

namespace tyto_test {

template <class T>
std::string printed(const T& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

}  // namespace tyto_test
