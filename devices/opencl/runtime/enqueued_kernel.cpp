// SPDX-License-Identifier: MIT
// Sets the arguments of compiled kernels, and enqueues them.
#include "devices/opencl/runtime/enqueued_kernel.hpp"

#include "core/value/text.hpp"

namespace tyto::opencl {

namespace {

template <class T>
void set(cl_kernel kernel, cl_uint position, const T& value, const std::string& what) {
  check(clSetKernelArg(kernel, position, sizeof value, &value), "clSetKernelArg", what);
}

MemoryHandle table_memory(const Context& context, const std::vector<std::byte>& contents, const std::string& what) {
  auto* const source = const_cast<std::byte*>(contents.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  cl_int status = CL_SUCCESS;
  MemoryHandle memory(
      clCreateBuffer(context.context.get(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, contents.size(), source, &status));
  check(status, "clCreateBuffer", core::text(what, ": a table of ", contents.size(), " bytes"));
  return memory;
}

/// Whether a copy that need not be made is left out.
bool lies_in_place(const InPlace& copy, std::span<const core::Address> inputs, const core::Address& output) {
  const core::Address& input = inputs[copy.input];
  const auto apart = static_cast<std::int64_t>(input.offset) - static_cast<std::int64_t>(output.offset);
  return input.memory == output.memory && apart == copy.distance;
}

}  // namespace

EnqueuedKernel::EnqueuedKernel(const Context& context, const LaunchPlan& plan, const std::vector<Compiled>& programs)
    : what_(core::text(context.name, ": ", plan.name)), context_(context), workspace_(plan.workspace) {
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const KernelLaunch& launch = plan.launches[i];
    cl_int status = CL_SUCCESS;
    Stage stage{KernelHandle(clCreateKernel(programs[i].program, programs[i].name.c_str(), &status)),
                {},
                {},
                launch.global,
                launch.local,
                launch.unless,
                false};
    check(status, "clCreateKernel", core::text(what_, ": ", programs[i].name));
    cl_uint position = 0;
    for (const Argument& argument : launch.arguments) {
      if (const auto* memory = std::get_if<MemoryArgument>(&argument)) {
        stage.memory.push_back({position, *memory});
        position += 2;
      } else if (const auto* whole = std::get_if<std::int64_t>(&argument)) {
        set(stage.kernel.get(), position++, static_cast<cl_long>(*whole), what_);
      } else if (const auto* narrow = std::get_if<std::int32_t>(&argument)) {
        set(stage.kernel.get(), position++, static_cast<cl_int>(*narrow), what_);
      } else if (const auto* real = std::get_if<double>(&argument)) {
        set(stage.kernel.get(), position++, *real, what_);
      } else if (const auto* single = std::get_if<float>(&argument)) {
        set(stage.kernel.get(), position++, *single, what_);
      } else if (const auto* table = std::get_if<TableArgument>(&argument)) {
        stage.tables.push_back(table_memory(context, *launch.tables[table->index], what_));
        set(stage.kernel.get(), position++, stage.tables.back().get(), what_);
      } else {
        set(stage.kernel.get(), position++, context.faults.memory(), what_);
        stage.may_fault = true;
      }
    }
    stages_.push_back(std::move(stage));
  }
}

void EnqueuedKernel::launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
                            core::Address workspace) const {
  using Role = MemoryArgument::Role;
  const std::lock_guard lock(mutex_);
  for (const Stage& stage : stages_) {
    if (stage.unless && lies_in_place(*stage.unless, inputs, outputs[0])) continue;
    for (const Memory& memory : stage.memory) {
      const MemoryArgument& argument = memory.argument;
      const core::Address& address = argument.role == Role::input    ? inputs[argument.index]
                                     : argument.role == Role::output ? outputs[argument.index]
                                                                     : workspace;
      auto* const buffer = static_cast<cl_mem>(address.memory);
      const auto offset = static_cast<cl_long>(address.offset / argument.element_bytes) + argument.offset;
      set(stage.kernel.get(), memory.position, buffer, what_);
      set(stage.kernel.get(), memory.position + 1, offset, what_);
    }
    const std::size_t* const local = stage.local[0] == 0 ? nullptr : stage.local.data();
    context_.queue.enqueue("clEnqueueNDRangeKernel", what_, [&](cl_command_queue queue, cl_event* event) {
      return clEnqueueNDRangeKernel(queue, stage.kernel.get(), 3, nullptr, stage.global.data(), local, 0, nullptr,
                                    event);
    });
    if (stage.may_fault) context_.faults.expect();
  }
}

}  // namespace tyto::opencl
