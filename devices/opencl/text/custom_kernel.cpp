// SPDX-License-Identifier: MIT
// Puts a kernel of ours round a user's: it adds the offsets, which OpenCL 1.2 cannot add on the host.
#include "devices/opencl/text/custom_kernel.hpp"

#include <algorithm>

#include "core/graph/custom.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/runtime/enqueued_kernel.hpp"
#include "devices/opencl/text/element_types.hpp"

namespace tyto::opencl {

namespace {

constexpr const char* entry = "tyto_call";

/// Text of a whole program, gathered operand by operand.
struct Program {
  std::string types;
  std::string parameters;
  std::string arguments;
  bool has_f64 = false;

  void array(std::string_view role, std::size_t index, const core::Operand& operand, std::string_view constant) {
    const std::string name = text(role, index);
    has_f64 = has_f64 || real_type(operand.dtype) == DType::f64;
    types += text("typedef ", storage_name(operand.dtype), ' ', name, "_t;\n");
    add(parameters, text(constant, "global ", name, "_t* ", name, ", const long ", name, "_offset"));
    add(arguments, text(name, " + ", name, "_offset"));
  }
  void number(std::size_t index) {
    add(parameters, text("const long number", index));
    add(arguments, text("number", index));
  }
  // The log of a compiler then counts the lines of the user's source.
  std::string source(const core::DeviceSource& given) const {
    return text(has_f64 ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : "", types, "#line 1\n", given.text,
                "\nkernel void ", entry, '(', parameters, ") {\n  ", given.kernel, '(', arguments, ");\n}\n");
  }

 private:
  static void add(std::string& list, const std::string& part) { list += (list.empty() ? "" : ", ") + part; }
};

}  // namespace

std::shared_ptr<const core::Kernel> custom_kernel(Context& context, const core::Step& step) {
  using Role = MemoryArgument::Role;
  const core::CustomOperator& op = *std::get<core::CustomAttributes>(*step.attributes).op;
  Program program;
  KernelLaunch launch;
  const auto array = [&](Role role, std::size_t index, const core::Operand& operand) {
    program.array(role == Role::input ? "input" : "result", index, operand, role == Role::input ? "const " : "");
    launch.arguments.push_back(MemoryArgument{role, index, size_of(operand.dtype), operand.view.offset});
  };
  for (std::size_t i = 0; i < step.inputs.size(); ++i) array(Role::input, i, step.inputs[i]);
  for (std::size_t i = 0; i < step.outputs.size(); ++i) array(Role::output, i, step.outputs[i]);
  for (std::size_t i = 0; i < op.opencl.scalar_arguments.size(); ++i) {
    program.number(i);
    launch.arguments.push_back(op.opencl.scalar_arguments[i]);
  }
  launch.global = op.opencl.global_size;
  launch.local = op.opencl.local_size;
  LaunchPlan plan;
  plan.name = text('\'', op.name, '\'');
  std::vector<EnqueuedKernel::Compiled> programs;
  // Compiled even where there is nothing to do, so that a fault in the source shows at once.
  const ProgramSource source{program.source(op.opencl), text(context.name, ": ", plan.name)};
  programs.push_back({context.programs.get({&source, 1}, context.options).front(), entry});
  if (!std::ranges::count(launch.global, std::size_t{0})) plan.launches.push_back(std::move(launch));
  return std::make_shared<EnqueuedKernel>(context, plan, programs);
}

}  // namespace tyto::opencl
