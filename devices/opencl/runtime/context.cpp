// SPDX-License-Identifier: MIT
// Reads a device's limits and opens its context and queue.
#include "devices/opencl/runtime/context.hpp"

#include <algorithm>
#include <bit>
#include <thread>

#include "core/system/environment.hpp"
#include "core/value/text.hpp"
#include "tyto/version.hpp"

namespace tyto::opencl {

namespace {

bool offers(cl_device_id device, std::string_view extension) {
  const std::string all = ' ' + text_of(device, CL_DEVICE_EXTENSIONS) + ' ';
  return all.find(core::text(' ', extension, ' ')) != std::string::npos;
}

ContextHandle open_context(const std::string& name, cl_device_id device) {
  cl_int status = CL_SUCCESS;
  ContextHandle context(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status));
  check(status, "clCreateContext", name);
  return context;
}

// Everything that the binary of a program depends on beside its source and options.
std::string identity_of(cl_device_id device) {
  const auto platform = value_of<cl_platform_id>(device, CL_DEVICE_PLATFORM);
  return core::text("tyto ", tyto::version(), '\n', text_of(platform, CL_PLATFORM_NAME), '\n',
                    text_of(platform, CL_PLATFORM_VERSION), '\n', text_of(device, CL_DEVICE_NAME), '\n',
                    text_of(device, CL_DEVICE_VERSION), '\n', text_of(device, CL_DRIVER_VERSION));
}

// PoCL has one compiler for the whole process, and what it takes to begin a program is as much again for each of
// several. Oclgrind 21.10 ends with a segmentation violation now and then where two threads build programs.
std::size_t builders_for(cl_device_id device) {
  constexpr std::size_t most = 8;  // drivers that compile one at a time would not end with many
  const std::string platform = text_of(value_of<cl_platform_id>(device, CL_DEVICE_PLATFORM), CL_PLATFORM_NAME);
  if (platform == "Oclgrind" || platform == "Portable Computing Language") return 1;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most);
}

bool is_llvmpipe(cl_device_id device) { return text_of(device, CL_DEVICE_NAME).starts_with("llvmpipe"); }

}  // namespace

// llvmpipe, which rusticl calls a processor, runs the items of a work-group as the lanes of its vectors: alone, an item
// leaves them idle, whatever vectors it asks for.
Style natural_style(cl_device_id device) {
  if (text_of(value_of<cl_platform_id>(device, CL_DEVICE_PLATFORM), CL_PLATFORM_NAME) == "rusticl") return Style::gpu;
  return (value_of<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0 ? Style::cpu : Style::gpu;
}

Context::Context(std::string called, cl_device_id device, Style wanted, std::filesystem::path cache_directory)
    : name(std::move(called)),
      description(text_of(device, CL_DEVICE_NAME) + " (" +
                  text_of(value_of<cl_platform_id>(device, CL_DEVICE_PLATFORM), CL_PLATFORM_NAME) + ")"),
      id(device),
      style(wanted),
      is_gpu((value_of<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU) != 0),
      has_f64(offers(device, "cl_khr_fp64")),
      shares_host_memory(value_of<cl_bool>(device, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE),
      ends_loops(is_llvmpipe(device)),
      units(std::max<std::size_t>(value_of<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS), 1)),
      builders(builders_for(device)),
      context(open_context(name, device)),
      queue(name, context.get(), device),
      faults(name, context.get()),
      programs(context.get(), device, identity_of(device), std::move(cache_directory)) {
  const auto most_items = value_of<std::size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  group = std::bit_floor(std::clamp<std::size_t>(most_items, 1, 256));
  alignment = std::max<std::size_t>(value_of<cl_uint>(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8, 8);
  max_buffer = static_cast<std::size_t>(value_of<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  options = "-cl-std=CL1.2";
  const auto single = value_of<cl_device_fp_config>(device, CL_DEVICE_SINGLE_FP_CONFIG);
  if ((single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  if (const auto further = core::environment("TYTO_OPENCL_OPTIONS")) options += core::text(' ', *further);
}

}  // namespace tyto::opencl
