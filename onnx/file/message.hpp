// Names in messages, and the one way to turn a file down.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::onnx {

std::string quoted(std::string_view name);

[[noreturn]] void refuse_all(std::initializer_list<core::Printable> parts);

template <class... Parts>
[[noreturn]] void refuse(const std::string& file, const Parts&... parts) {
  refuse_all({file, ": ", core::Printable(parts)...});
}

}  // namespace tyto::onnx
