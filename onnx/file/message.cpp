// How a file is turned down.
#include "onnx/file/message.hpp"

namespace tyto::onnx {

std::string quoted(std::string_view name) { return core::text("'", name, "'"); }

void refuse_all(std::initializer_list<core::Printable> parts) { throw IoError(core::joined(parts)); }

}  // namespace tyto::onnx
