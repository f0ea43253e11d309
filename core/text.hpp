// Building messages: `text("matmul: ", a, " x ", b)` strings together anything printable.
#pragma once

#include <sstream>
#include <string>

#include "tyto/dtype.hpp"
#include "tyto/shape.hpp"

namespace tyto::core {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace tyto::core
