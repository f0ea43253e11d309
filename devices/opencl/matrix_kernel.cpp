// Names for the parts of a team, and the notation of its statements.
#include "devices/opencl/matrix_kernel.hpp"

#include "core/text.hpp"
#include "devices/opencl/element_types.hpp"

namespace tyto::opencl {

namespace {

using core::text;
using Role = MemoryArgument::Role;

}  // namespace

MatrixStack matrix_stack(const core::Operand& operand) {
  const Shape& shape = operand.view.shape;
  MatrixStack stack;
  stack.rows = shape[shape.size() - 2];
  stack.columns = shape.back();
  for (std::size_t axis = 0; axis + 2 < shape.size(); ++axis) stack.count *= shape[axis];
  return stack;
}

MatrixKernel::MatrixKernel(const Context& context, const core::Step& step, std::int64_t count, std::int64_t longest)
    : step_(step), team_(context, count, 4 * longest) {
  plan_.name = core::definition(step.op).name;
  const DType dtype = step.inputs[0].dtype;
  const Compute part = compute_of(real_type(dtype));
  element_ = storage_name(dtype);
  real_ = type_name(part);
  suffix_ = is_complex(dtype) ? complex_suffix(part) : suffix(part);
  element_size_ = size_of(dtype);
  real_size_ = size_of(real_type(dtype));
}

void MatrixKernel::operand(Role role, std::size_t which, const core::Operand& from, std::string_view name,
                           std::int64_t elements) {
  kernel_.memory(role, which, from, text(name, "_stack"));
  const char* constant = role == Role::input ? "const " : "";
  std::string part;
  if (elements != 0) {
    kernel_.number(text(name, "_part"), elements);
    part = text(" + task * ", name, "_part");
  }
  parts_ +=
      text("    ", constant, "global ", storage_name(from.dtype), "* const ", name, " = ", name, "_stack", part, ";\n");
}

void MatrixKernel::input(std::size_t which, std::string_view name, std::int64_t elements) {
  operand(Role::input, which, step_.inputs[which], name, elements);
}

void MatrixKernel::output(std::size_t which, std::string_view name, std::int64_t elements) {
  operand(Role::output, which, step_.outputs[which], name, elements);
}

void MatrixKernel::room(std::string_view name, std::string_view type, std::size_t bytes, std::int64_t elements) {
  const std::size_t at = plan_.reserve(static_cast<std::size_t>(team_.teams() * elements) * bytes);
  kernel_.memory(Role::workspace, 0, type, bytes, static_cast<std::int64_t>(at / bytes), text(name, "_room"));
  kernel_.number(text(name, "_part"), elements);
  parts_ += text("    global ", type, "* const ", name, " = ", name, "_room + team * ", name, "_part;\n");
}

void MatrixKernel::length(std::string_view name, std::int64_t value) {
  kernel_.constant("int", name, static_cast<std::int32_t>(value));
}

LaunchPlan MatrixKernel::finish() {
  replace_all(body_, "@", "_" + suffix_);
  replace_all(body_, "TEAM", "member, members");
  replace_all(body_, "REAL", real_);
  replace_all(body_, "ELEMENT", element_);
  team_.declare_shared(kernel_, real_, body_);
  team_.open(kernel_);
  kernel_.line(parts_);
  kernel_.line(body_);
  plan_.launches.push_back(team_.close(kernel_));
  return std::move(plan_);
}

}  // namespace tyto::opencl
