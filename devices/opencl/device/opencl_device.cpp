// SPDX-License-Identifier: MIT
// Memory, and the way from steps through launch plans to compiled kernels.
#include "devices/opencl/device/opencl_device.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "core/device/allocation_limit.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/loops/named_loop.hpp"
#include "devices/opencl/products/matrix_product.hpp"
#include "devices/opencl/runtime/families.hpp"
#include "devices/opencl/runtime/loop_watch.hpp"
#include "devices/opencl/runtime/text_hash.hpp"
#include "devices/opencl/text/custom_kernel.hpp"
#include "devices/opencl/text/kernel_text.hpp"
#include "devices/opencl/text/mathematics.hpp"
#include "tyto/error.hpp"

namespace tyto::opencl {

namespace {

thread_local std::size_t allocations_here = 0;

// Kernels for which a program of their own is worth what each program costs, whatever its size.
constexpr std::size_t least_kernels = 2;

cl_mem memory_of(core::Address address) { return static_cast<cl_mem>(address.memory); }

void check_range(const std::string& device, std::string_view what, core::Address address, std::size_t bytes) {
  if (bytes == 0) return;  // of no buffer
  std::size_t whole = 0;
  check(clGetMemObjectInfo(memory_of(address), CL_MEM_SIZE, sizeof whole, &whole, nullptr), "clGetMemObjectInfo",
        device);
  if (address.offset > whole || bytes > whole - address.offset) {
    core::throw_error<DeviceError>(device, ": ", what, " of ", bytes, " bytes at ", address.offset,
                                   " leaves a buffer of ", whole, " bytes");
  }
}

// A readable name; kernels of equal text share the name of the first that was compiled.
std::string kernel_name(const std::string& plan, const std::string& source) {
  return plan + '_' + hash_digits(source, 0);
}

std::string named(const std::string& source, const std::string& name) {
  std::string out = source;
  replace_all(out, "KERNEL", name);
  return out;
}

}  // namespace

OpenClDevice::OpenClDevice(std::string name, cl_device_id id, Style style, std::filesystem::path cache_directory)
    : context_(std::move(name), id, style, std::move(cache_directory)) {
  properties_.name = context_.name;
  properties_.description = context_.description;
  properties_.alignment = context_.alignment;
  properties_.max_buffer = context_.max_buffer;
  properties_.host_memory = false;
}

core::BufferRef OpenClDevice::allocate(std::size_t bytes) {
  core::AllocationLimit::require(*this, bytes);
  if (bytes > context_.max_buffer) {
    core::throw_error<DeviceError>(context_.name, ": cannot allocate ", bytes,
                                   " bytes: the largest buffer of this device is ", context_.max_buffer, " bytes");
  }
  // Memory that the host can see as it lies, where there is such memory.
  const cl_mem_flags flags = CL_MEM_READ_WRITE | (context_.shares_host_memory ? CL_MEM_ALLOC_HOST_PTR : 0);
  cl_int status = CL_SUCCESS;
  MemoryHandle memory(clCreateBuffer(context_.context.get(), flags, std::max<std::size_t>(bytes, 1), nullptr, &status));
  check(status, "clCreateBuffer",
        text(context_.name, ": cannot allocate ", bytes, " bytes (", allocated(), " in use)"));
  const auto release = [](core::Device* device, void* held, std::size_t size, void*) {
    clReleaseMemObject(static_cast<cl_mem>(held));
    static_cast<OpenClDevice*>(device)->allocated_.fetch_sub(size, std::memory_order_relaxed);
  };
  auto buffer = std::make_shared<core::Buffer>(this, memory.get(), bytes, release);
  memory.release_ownership();  // it is the buffer's
  allocated_.fetch_add(bytes, std::memory_order_relaxed);
  ++allocations_here;
  return buffer;
}

std::size_t OpenClDevice::allocations() const { return allocations_here; }

void OpenClDevice::copy_in(core::Address target, const void* source, std::size_t bytes) {
  check_range(context_.name, "copy in", target, bytes);
  if (bytes == 0) return;
  const auto what = [&] { return text(context_.name, ": copying ", bytes, " bytes to the device"); };
  context_.queue.enqueue("clEnqueueWriteBuffer", what, [&](cl_command_queue queue, cl_event* event) {
    return clEnqueueWriteBuffer(queue, memory_of(target), CL_TRUE, target.offset, bytes, source, 0, nullptr, event);
  });
}

void OpenClDevice::copy_out(void* target, core::Address source, std::size_t bytes) {
  check_range(context_.name, "copy out", source, bytes);
  if (bytes == 0) return;
  const auto what = [&] { return text(context_.name, ": copying ", bytes, " bytes from the device"); };
  context_.queue.enqueue("clEnqueueReadBuffer", what, [&](cl_command_queue queue, cl_event* event) {
    return clEnqueueReadBuffer(queue, memory_of(source), CL_TRUE, source.offset, bytes, target, 0, nullptr, event);
  });
  context_.faults.check(context_.queue);
  context_.programs.save_new();
}

void OpenClDevice::copy(core::Address target, core::Address source, std::size_t bytes) {
  check_range(context_.name, "copy", target, bytes);
  check_range(context_.name, "copy", source, bytes);
  if (bytes == 0) return;
  const auto what = [&] { return text(context_.name, ": copying ", bytes, " bytes on the device"); };
  context_.queue.enqueue("clEnqueueCopyBuffer", what, [&](cl_command_queue queue, cl_event* event) {
    return clEnqueueCopyBuffer(queue, memory_of(source), memory_of(target), source.offset, target.offset, bytes, 0,
                               nullptr, event);
  });
}

void OpenClDevice::fill(core::Address target, std::span<const std::byte> pattern, std::size_t bytes) {
  check_range(context_.name, "fill", target, bytes);
  if (bytes == 0) return;
  const auto what = [&] { return text(context_.name, ": filling ", bytes, " bytes"); };
  context_.queue.enqueue("clEnqueueFillBuffer", what, [&](cl_command_queue queue, cl_event* event) {
    return clEnqueueFillBuffer(queue, memory_of(target), pattern.data(), pattern.size(), target.offset, bytes, 0,
                               nullptr, event);
  });
}

namespace {

bool is_plain_scatter(OpId op) { return op == OpId::scatter; }

bool any(OpId) { return true; }
bool any_result(const core::Step&) { return true; }

bool loops_over_elements(const core::Step& step) {
  return is_element_loop(step.op) ||
         (step.op == OpId::fused && std::get<core::LoopAttributes>(*step.attributes).axes.empty());
}

// A residual is read where the result is written.
std::uint64_t operands_of_epilogue(const core::Step& step) {
  const bool has_epilogue = step.op == OpId::matmul_epilogue || step.op == OpId::convolution_epilogue;
  return has_epilogue ? ~std::uint64_t{3} : 0;
}

/// Operators of one kind, and what the device asks of their steps.
struct Family {
  /// Null for loops, and where another library or the user prepares the kernel.
  std::span<const OperatorPlan> (*plans)();
  /// Operators that take complex elements; null where none does.
  bool (*takes_complex)(OpId op) = nullptr;
  /// As in core::Device; null where results must be dense, at offset zero of their addresses.
  bool (*writes_strided)(const core::Step& step) = nullptr;
  /// As in core::Device; null when any strides will do.
  std::uint64_t (*requires_dense)(const core::Step& step) = nullptr;
  /// Elements are moved and not read, so that f64 ones need no arithmetic.
  bool moves = false;
};

constexpr Family families[] = {
    {matrix_plans, nullptr, nullptr, operands_of_epilogue},
    {convolution_plans, nullptr, nullptr, operands_of_epilogue},
    {reduction_plans},
    {move_plans, any, any_result, nullptr, true},
    {indexed_plans, any, any_result},
    {window_plans, nullptr, any_result},
    {scan_plans},
    {scatter_plans, is_plain_scatter},
    {sort_plans},
    {search_plans},
    {fourier_plans, any, any_result},
    {suppression_plans},
};
constexpr Family loop_family = {nullptr, takes_complex, loops_over_elements};
constexpr Family custom_family = {nullptr, any};

void append_loop(LaunchPlan& plan, const Context& context, const core::Step& step) {
  plan = loop_launch_plan(context, step);
}

/// The family of an operator, null where the device has no kernel for it, and how its steps become launches.
struct Found {
  const Family* family = nullptr;
  decltype(OperatorPlan::append) append = nullptr;
};

Found find_family(OpId op) {
  for (const Family& family : families) {
    for (const OperatorPlan& one : family.plans()) {
      if (one.op == op) return {&family, one.append};
    }
  }
  if (is_loop(op)) return {&loop_family, append_loop};
  if (op == OpId::custom) return {&custom_family};
  return {};
}

}  // namespace

bool OpenClDevice::supports(OpId op, std::span<const DType> inputs, std::span<const DType> outputs) const {
  const Family* const family = find_family(op).family;
  if (family == nullptr) return false;
  const bool complex = family->takes_complex != nullptr && family->takes_complex(op);
  const auto takes = [&](DType type) {
    return (complex || !is_complex(type)) && (context_.has_f64 || family->moves || real_type(type) != DType::f64);
  };
  // Its method rejects some candidates, which f32 could not tell apart.
  const bool needs_f64 = op == OpId::random_gamma;
  return std::ranges::all_of(inputs, takes) && std::ranges::all_of(outputs, takes) && (context_.has_f64 || !needs_f64);
}

std::uint64_t OpenClDevice::requires_dense(const core::Step& step) const {
  const Family* const family = find_family(step.op).family;
  return family == nullptr || family->requires_dense == nullptr ? 0 : family->requires_dense(step);
}

bool OpenClDevice::writes_strided(const core::Step& step) const {
  const Family* const family = find_family(step.op).family;
  if (family != nullptr && family->writes_strided != nullptr && family->writes_strided(step)) return true;
  return std::ranges::all_of(
      step.outputs, [](const core::Operand& output) { return core::is_dense(output.view) && output.view.offset == 0; });
}

LaunchPlan OpenClDevice::launch_plan_of(const core::Step& step) const {
  std::vector<DType> inputs;
  std::vector<DType> outputs;
  for (const core::Operand& operand : step.inputs) inputs.push_back(operand.dtype);
  for (const core::Operand& operand : step.outputs) outputs.push_back(operand.dtype);
  if (!supports(step.op, inputs, outputs)) {
    std::string types;
    for (const DType type : inputs) types += text(types.empty() ? "" : ", ", type);
    core::throw_error<DeviceError>(context_.name, ": no kernel for ", core::definition(step.op).name, "(", types, ")");
  }
  LaunchPlan plan;
  plan.name = core::definition(step.op).name;
  if (std::ranges::all_of(step.outputs, [](const core::Operand& output) { return output.view.count() == 0; })) {
    return plan;
  }
  const auto append = find_family(step.op).append;
  if (append == nullptr) core::throw_error<DeviceError>(context_.name, ": ", plan.name, " is prepared in another way");
  append(plan, context_, step);
  if (context_.ends_loops) watch_loops(plan, step.op);
  return plan;
}

std::shared_ptr<const core::Kernel> OpenClDevice::prepare(const core::Step& step) {
  return prepare_all({&step, 1}).front();
}

std::vector<std::shared_ptr<const core::Kernel>> OpenClDevice::prepare_all(std::span<const core::Step> steps) {
  std::vector<std::shared_ptr<const core::Kernel>> kernels(steps.size());
  std::vector<LaunchPlan> plans;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // On GPUs our own kernels are faster; on processors that work in groups of items CLBlast's
    // (docs/performance/opencl.md).
    if (steps[i].op == OpId::matmul && context_.style == Style::gpu && !context_.is_gpu) {
      kernels[i] = clblast_kernel(context_, matrix_product(steps[i]));
    } else if (steps[i].op == OpId::custom) {
      kernels[i] = custom_kernel(context_, steps[i]);
    }
    if (kernels[i] != nullptr) continue;
    plans.push_back(launch_plan_of(steps[i]));
    places.push_back(i);
  }
  const auto built = build(plans);
  for (std::size_t i = 0; i < built.size(); ++i) kernels[places[i]] = built[i];
  return kernels;
}

std::vector<std::shared_ptr<const core::Kernel>> OpenClDevice::build(std::span<const LaunchPlan> plans) {
  std::vector<std::shared_ptr<const core::Kernel>> kernels;
  const std::lock_guard lock(mutex_);
  compile_missing(plans);
  for (const LaunchPlan& plan : plans) {
    std::vector<EnqueuedKernel::Compiled> programs;
    for (const KernelLaunch& launch : plan.launches) {
      programs.push_back(compiled_.at(launch.source));
    }
    kernels.push_back(std::make_shared<EnqueuedKernel>(context_, plan, programs));
  }
  return kernels;
}

void OpenClDevice::compile_missing(std::span<const LaunchPlan> plans) {
  struct Missing {
    const std::string* source;
    std::string name, plan;
  };
  std::vector<Missing> missing;
  std::unordered_set<std::string_view> seen;
  for (const LaunchPlan& plan : plans) {
    for (const KernelLaunch& launch : plan.launches) {
      if (compiled_.contains(launch.source) || !seen.insert(launch.source).second) continue;
      missing.push_back({&launch.source, kernel_name(plan.name, launch.source), plan.name});
    }
  }
  if (missing.empty()) return;
  // A program for each thread that builds, of much the same length, the longest kernels dealt out first.
  std::ranges::stable_sort(missing, std::ranges::greater(), [](const Missing& one) { return one.source->size(); });
  struct Share {
    std::vector<const Missing*> kernels;
    std::string text;
  };
  std::vector<Share> shares(std::min(context_.builders, (missing.size() + least_kernels - 1) / least_kernels));
  for (const Missing& one : missing) {
    Share& share = *std::ranges::min_element(shares, {}, [](const Share& each) { return each.text.size(); });
    share.kernels.push_back(&one);
    share.text += named(*one.source, one.name);
  }
  std::vector<ProgramSource> sources;
  for (const Share& share : shares) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(share.kernels.size(), 4); ++i) {
      names += (i == 0 ? "" : ", ") + share.kernels[i]->plan;
    }
    if (share.kernels.size() > 4) names += text(" and ", share.kernels.size() - 4, " more");
    sources.push_back({mathematics_for(share.text, context_) + share.text, text(context_.name, ": ", names)});
  }
  const std::vector<cl_program> programs = context_.programs.get(sources, context_.options);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (const Missing* one : shares[i].kernels) {
      compiled_.emplace(*one->source, EnqueuedKernel::Compiled{programs[i], one->name});
    }
  }
}

std::optional<double> OpenClDevice::lap() { return context_.queue.lap(); }

void OpenClDevice::synchronise() {
  context_.queue.finish();
  context_.faults.check(context_.queue);
  context_.programs.save_new();
}

}  // namespace tyto::opencl
