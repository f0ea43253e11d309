// SPDX-License-Identifier: MIT
// Asks every platform for its devices and opens them; what cannot be used is told with its reason.
#include "devices/opencl/device/discovery.hpp"

#include <algorithm>
#include <cctype>

#include "core/system/environment.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/device/device.hpp"
#include "devices/opencl/device/opencl_device.hpp"
#include "tyto/error.hpp"

namespace tyto::opencl {

namespace {

// The status that loaders of drivers return where none is installed: CL_PLATFORM_NOT_FOUND_KHR of <CL/cl_ext.h>.
constexpr cl_int no_platform = -1001;

std::string name_of(cl_platform_id platform) {
  const std::string name = text_of(platform, CL_PLATFORM_NAME);
  return name.empty() ? "a platform without a name" : name;
}

// As DeviceProperties::description has it.
std::string name_of(cl_device_id device) {
  return text(text_of(device, CL_DEVICE_NAME), " (", name_of(value_of<cl_platform_id>(device, CL_DEVICE_PLATFORM)),
              ')');
}

std::vector<cl_platform_id> all_platforms(std::vector<std::string>& refused) {
  cl_uint count = 0;
  cl_int status = clGetPlatformIDs(0, nullptr, &count);
  if (status == no_platform || (status == CL_SUCCESS && count == 0)) return {};
  std::vector<cl_platform_id> platforms(count);
  if (status == CL_SUCCESS) status = clGetPlatformIDs(count, platforms.data(), nullptr);
  if (status == CL_SUCCESS) return platforms;
  refused.push_back("the platforms of OpenCL: " + failure("clGetPlatformIDs", status));
  return {};
}

std::vector<cl_device_id> devices_of(cl_platform_id platform, std::vector<std::string>& refused) {
  cl_uint count = 0;
  cl_int status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (status == CL_DEVICE_NOT_FOUND || (status == CL_SUCCESS && count == 0)) return {};
  std::vector<cl_device_id> devices(count);
  if (status == CL_SUCCESS) status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  if (status == CL_SUCCESS) return devices;
  refused.push_back(text("the devices of ", name_of(platform), ": ", failure("clGetDeviceIDs", status)));
  return {};
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
  return lower(wish) != "none" && lower(name_of(device)).find(lower(wish)) != std::string::npos;
}

// That of the device's type, unless TYTO_OPENCL_STYLE names one.
Style style_of(cl_device_id device) {
  const std::string_view chosen = core::environment("TYTO_OPENCL_STYLE").value_or("");
  return chosen == "cpu" ? Style::cpu : chosen == "gpu" ? Style::gpu : natural_style(device);
}

// Why a device cannot even be opened; nothing if it may be tried.
std::string hindrance(cl_device_id device) {
  if (value_of<cl_bool>(device, CL_DEVICE_AVAILABLE) != CL_TRUE) return "it is not available now";
  if (value_of<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE) != CL_TRUE) return "its driver has no compiler";
  return {};
}

// Never destroyed, as its devices: tensors with static lifetime may be released after everything else.
const Discovery& discovered() {
  static const Discovery* const found = [] {
    return new Discovery(discover(std::string(core::environment("TYTO_OPENCL_DEVICE").value_or(""))));
  }();
  return *found;
}

}  // namespace

Discovery discover(const std::string& wish) {
  Discovery found;
  std::size_t number = 0;
  for (const cl_platform_id platform : all_platforms(found.refused)) {
    for (const cl_device_id device : devices_of(platform, found.refused)) {
      const std::string why_not = hindrance(device);
      if (!wanted(wish, why_not.empty() ? number++ : SIZE_MAX, device)) continue;
      if (!why_not.empty()) {
        found.refused.push_back(text(name_of(device), ": ", why_not));
        continue;
      }
      try {
        const std::string name = text("opencl:", found.devices.size());
        found.devices.push_back(
            std::make_unique<OpenClDevice>(name, device, style_of(device), default_cache_directory(device)));
      } catch (const DeviceError& error) {
        found.refused.push_back(text(name_of(device), ": ", error.what()));
      }
    }
  }
  return found;
}

std::span<core::Device* const> devices() {
  static const std::vector<core::Device*>* const list = [] {
    auto* const opened = new std::vector<core::Device*>;
    for (const auto& device : discovered().devices) opened->push_back(device.get());
    return opened;
  }();
  return *list;
}

std::span<const std::string> refused_devices() { return discovered().refused; }

}  // namespace tyto::opencl
