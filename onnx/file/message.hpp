// SPDX-License-Identifier: MIT
// Quotes names in messages; files are refused by io::refuse.
#pragma once

#include <string>
#include <string_view>

#include "core/value/text.hpp"
#include "io/refuse.hpp"

namespace tyto::onnx {

using io::refuse;

inline std::string quoted(std::string_view name) { return core::text("'", name, "'"); }

}  // namespace tyto::onnx
