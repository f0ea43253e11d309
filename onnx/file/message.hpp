// SPDX-License-Identifier: MIT
// Names in messages, and the one way to refuse a file.
#pragma once

#include <string>
#include <string_view>

#include "core/value/text.hpp"
#include "io/refuse.hpp"

namespace tyto::onnx {

using io::refuse;

inline std::string quoted(std::string_view name) { return core::text("'", name, "'"); }

}  // namespace tyto::onnx
