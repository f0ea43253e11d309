// SPDX-License-Identifier: MIT
// Context: properties and limits of one OpenCL device, with its context, queue and programs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "devices/opencl/runtime/api.hpp"
#include "devices/opencl/runtime/faults.hpp"
#include "devices/opencl/runtime/program_cache.hpp"
#include "devices/opencl/runtime/queue.hpp"

namespace tyto::opencl {

/// How matrix products are made: by a register tile an item, or by work-groups. Other kernels have one form.
enum class Style { cpu, gpu };

struct Context {
  std::string name;         // "opencl:0"
  std::string description;  // vendor's text
  cl_device_id id = nullptr;
  Style style = Style::gpu;
  bool is_gpu = false;
  bool has_f64 = false;
  bool shares_host_memory = false;
  bool ends_loops = false;      // before they are done, see loop_watch.hpp
  std::size_t units = 1;        // compute units
  std::size_t builders = 1;     // threads that build programs at a time
  std::size_t group = 64;       // items of a work-group: a power of two
  std::size_t alignment = 128;  // bytes
  std::size_t max_buffer = 0;   // bytes
  std::string options;          // for every build
  ContextHandle context;
  Queue queue;
  Faults faults;
  ProgramCache programs;

  Context(std::string called, cl_device_id device, Style wanted, std::filesystem::path cache_directory);
};

/// The style that suits the device's type.
Style natural_style(cl_device_id device);

}  // namespace tyto::opencl
