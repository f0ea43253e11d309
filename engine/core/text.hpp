// Building messages: `text("matmul: ", a, " x ", b)` strings together anything printable.
#pragma once

#include <sstream>
#include <string>

#include "tyto/dtype.hpp"
#include "tyto/shape.hpp"

namespace tyto::core {

namespace detail {
template <class T>
void append(std::ostringstream& out, const T& part) {
  if constexpr (std::is_convertible_v<const T&, const IntList&>) {
    out << to_string(static_cast<const IntList&>(part));
  } else if constexpr (std::is_same_v<T, DType>) {
    out << name_of(part);
  } else {
    out << part;
  }
}
}  // namespace detail

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (detail::append(out, parts), ...);
  return out.str();
}

}  // namespace tyto::core
