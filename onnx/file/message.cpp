// SPDX-License-Identifier: MIT
// Names in messages.
#include "onnx/file/message.hpp"

namespace tyto::onnx {

std::string quoted(std::string_view name) { return core::text("'", name, "'"); }

}  // namespace tyto::onnx
