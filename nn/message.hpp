// Error messages built from text, numbers and shapes.
#pragma once

#include <sstream>
#include <string>

#include "tyto/shape.hpp"

namespace tyto::nn {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  const auto put = [&](const auto& part) {
    if constexpr (std::is_base_of_v<IntList, std::decay_t<decltype(part)>>) {
      out << to_string(part);
    } else {
      out << part;
    }
  };
  (put(parts), ...);
  return out.str();
}

}  // namespace tyto::nn
