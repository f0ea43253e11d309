// Names in messages, and the one way to turn a file down.
#pragma once

#include <string>
#include <string_view>

#include "core/text.hpp"
#include "tyto/error.hpp"

namespace tyto::onnx {

inline std::string quoted(std::string_view name) { return core::text("'", name, "'"); }

template <class... Parts>
[[noreturn]] void refuse(const std::string& file, const Parts&... parts) {
  throw IoError(core::text(file, ": ", parts...));
}

}  // namespace tyto::onnx
