// Expands the operator lists once more, for their names.
#include "devices/opencl/operator_names.hpp"

#include <array>

namespace tyto::opencl {

std::string_view name_of(core::OpId op) {
  static constexpr std::array<std::string_view, core::op_count> names = {
#define TYTO_UNARY(name, ...) #name,
#define TYTO_BINARY(name, ...) #name,
#define TYTO_TERNARY(name, ...) #name,
#include "tyto/ops/elementwise.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
#define TYTO_OP(name) #name,
#include "tyto/ops/ops.def"
#undef TYTO_OP
  };
  return names[static_cast<std::size_t>(op)];
}

}  // namespace tyto::opencl
