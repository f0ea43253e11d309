// Finds the devices of all platforms, once.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/text.hpp"
#include "devices/opencl/device.hpp"
#include "devices/opencl/opencl_device.hpp"
#include "tyto/error.hpp"

namespace tyto::opencl {

namespace {

std::vector<cl_device_id> all_devices() {
  // Without an installed driver the loader reports an error of its own; both mean that there is nothing to use.
  cl_uint platform_count = 0;
  if (clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS || platform_count == 0) return {};
  std::vector<cl_platform_id> platforms(platform_count);
  if (clGetPlatformIDs(platform_count, platforms.data(), nullptr) != CL_SUCCESS) return {};
  std::vector<cl_device_id> found;
  for (const cl_platform_id platform : platforms) {
    cl_uint count = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count == 0) continue;
    std::vector<cl_device_id> devices(count);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr) != CL_SUCCESS) continue;
    for (const cl_device_id device : devices) {
      if (value_of<cl_bool>(device, CL_DEVICE_AVAILABLE) == CL_TRUE &&
          value_of<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE) == CL_TRUE) {
        found.push_back(device);
      }
    }
  }
  return found;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Whether TYTO_OPENCL_DEVICE leaves the device in.
bool wanted(const std::string& wish, std::size_t number, cl_device_id device) {
  if (wish.empty()) return true;
  if (std::all_of(wish.begin(), wish.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
    return wish == std::to_string(number);
  }
  const auto platform = value_of<cl_platform_id>(device, CL_DEVICE_PLATFORM);
  const std::string names = text_of(device, CL_DEVICE_NAME) + '\n' + text_of(platform, CL_PLATFORM_NAME);
  return lower(wish) != "none" && lower(names).find(lower(wish)) != std::string::npos;
}

std::vector<core::Device*> open_all() {
  const char* variable = std::getenv("TYTO_OPENCL_DEVICE");
  const std::string wish = variable == nullptr ? "" : variable;
  std::vector<core::Device*> opened;
  const std::vector<cl_device_id> found = all_devices();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!wanted(wish, i, found[i])) continue;
    try {
      // Never destroyed: tensors with static lifetime may be released after everything else.
      opened.push_back(new OpenClDevice(core::text("opencl:", opened.size()), found[i], natural_style(found[i]),
                                        default_cache_directory()));
    } catch (const DeviceError&) {
      // A device that cannot be opened (lost, or held by another process) is as good as none.
    }
  }
  return opened;
}

}  // namespace

std::span<core::Device* const> devices() {
  // As its devices, never destroyed.
  static const std::vector<core::Device*>* const opened = new std::vector<core::Device*>(open_all());
  return *opened;
}

}  // namespace tyto::opencl
