// SPDX-License-Identifier: MIT
// What a stream is given of a value.
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
