// SPDX-License-Identifier: MIT
// Names in messages, and the one way to refuse a file.
#pragma once

#include <string>
#include <string_view>

#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::onnx {

std::string quoted(std::string_view name);

template <class... Parts>
[[noreturn]] void refuse(const std::string& file, const Parts&... parts) {
  core::throw_error<IoError>(file, ": ", parts...);
}

}  // namespace tyto::onnx
