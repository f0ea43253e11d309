// SPDX-License-Identifier: MIT
// tyto devices: lists devices, what each lacks, and the memory bandwidth and arithmetic that it reaches here.
#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>

#include <tyto/tyto.hpp>

#include "cli/commands.hpp"

namespace tyto::cli {
namespace {

constexpr OptionRow devices_options[] = {
    {"--list", "", "only list them, measure nothing"},
};

using T = Tensor<Lazy>;

std::string listed(const std::vector<DType>& types) {
  std::string list;
  for (const DType type : types) list += (list.empty() ? "" : " ") + std::string(name_of(type));
  return list;
}

std::vector<DType> lacking(const DeviceInfo& device) {
  std::vector<DType> types;
  for (int i = 0; i < dtype_count; ++i) {
    if (!std::ranges::count(device.types, static_cast<DType>(i))) types.push_back(static_cast<DType>(i));
  }
  return types;
}

/// The shortest of some runs that give `variable` its next value, in seconds.
double seconds_of(const T& variable, const T& next) {
  const T one = reshape(next, {-1})(0);
  Graph graph{{.outputs = {one}, .updates = {{variable, next}}}};
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const auto began = std::chrono::steady_clock::now();
    graph.run();
    graph[one].item<float>();  // waits for the device
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (i == 1 || took.count() < best) best = took.count();  // the first run brings memory and kernels
  }
  return best;
}

double bytes_a_second() {
  constexpr std::int64_t count = 1 << 24;
  const T x = T::persistent(T::zeros({count}), "x");
  return 2.0 * count * sizeof(float) / seconds_of(x, x + 1.0);
}

double operations_a_second() {
  constexpr std::int64_t length = 1024;
  // Each run multiplies what the run before made: what depends on nothing new would not be computed again.
  const T a = T::persistent(T::ones({length, length}), "a");
  const T b = T::persistent(T::full({length, length}, 1.0f / length), "b");
  return 2.0 * length * length * length / seconds_of(a, matmul(a, b));
}

void measure(const DeviceInfo& device) {
  const DeviceScope scope(device.name);
  std::cout << "  moves          " << bytes_a_second() / 1e9 << " GB/s (64 MiB of f32, each read and written)\n"
            << std::flush;
  std::cout << "  multiplies     " << operations_a_second() / 1e9 << " GFLOP/s (1024 x 1024 matrices of f32)\n"
            << std::flush;
}

/// Lists the devices that cannot be used, with the reason, for users who miss one.
void list_unusable(std::size_t opencl_devices) {
  constexpr std::string_view mark = "; cannot be used: ";
  try {
    const DeviceScope scope("opencl:" + std::to_string(opencl_devices));
  } catch (const DeviceError& error) {
    std::string_view rest = error.what();
    for (std::size_t at = rest.find(mark); at != rest.npos; at = rest.find(mark)) {
      rest.remove_prefix(at + mark.size());
      std::cout << "cannot be used: " << rest.substr(0, rest.find(mark)) << "\n";
    }
  }
}

int list_devices(const Arguments& arguments) {
  if (!arguments.operands().empty()) throw UsageError("devices takes no files");
  const std::vector<DeviceInfo> all = devices();
  std::cout << std::fixed << std::setprecision(1);
  for (const DeviceInfo& device : all) {
    std::cout << device.name << "  " << device.description << "\n";
    if (device.name == "cpu") std::cout << "  threads        " << threads() << "\n";
    std::cout << "  computes with  " << listed(device.types) << "\n";
    if (const std::vector<DType> missing = lacking(device); !missing.empty()) {
      std::cout << "  lacks          " << listed(missing) << " (they are computed on the CPU)\n";
    }
    if (device.max_buffer != SIZE_MAX) std::cout << "  largest buffer " << (device.max_buffer >> 20) << " MiB\n";
    std::cout << std::flush;
    if (arguments.has("--list")) continue;
    try {
      measure(device);
    } catch (const DeviceError& error) {  // the others are to be listed
      std::cout << "  fails          " << error.what() << "\n";
    }
  }
  if (all.size() == 1) std::cout << "no OpenCL device: no driver is installed, or TYTO_OPENCL_DEVICE leaves none\n";
  list_unusable(all.size() - 1);
  return done;
}

}  // namespace

const Command devices_command{"devices", "", "lists devices, what they lack, how fast they are", devices_options,
                              list_devices};

}  // namespace tyto::cli
