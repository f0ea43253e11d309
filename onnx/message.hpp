// Error messages and names built from text, numbers and shapes.
#pragma once

#include <sstream>
#include <string>
#include <string_view>

#include "tyto/error.hpp"
#include "tyto/shape.hpp"

namespace tyto::onnx {

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

inline std::string quoted(std::string_view name) { return text("'", name, "'"); }

/// The one way to turn a file down.
template <class... Parts>
[[noreturn]] void refuse(const std::string& file, const Parts&... parts) {
  throw IoError(text(file, ": ", parts...));
}

}  // namespace tyto::onnx
