// SPDX-License-Identifier: MIT
// The list of devices and the thread's chosen one.
#include "engine/run/devices.hpp"

#include <atomic>

#include "devices/cpu/device/device.hpp"
#include "devices/cpu/system/memory.hpp"
#include "devices/cpu/system/subnormals.hpp"
#include "devices/cpu/system/thread_limit.hpp"
#include "devices/cpu/system/threads.hpp"
#ifdef TYTO_HAVE_OPENCL
#include "devices/opencl/device/device.hpp"
#endif
#include "core/graph/op_ids.hpp"
#include "core/system/environment.hpp"
#include "core/value/text.hpp"
#include "tyto/device.hpp"
#include "tyto/sessions.hpp"
#include "tyto/subnormals.hpp"

namespace tyto::run {

namespace {
thread_local core::Device* chosen_device = nullptr;
std::atomic<std::uint64_t> epoch{1};
}  // namespace

core::Device& cpu_device() {
  // Every computation calls this first: invalid environment variables are refused here.
  static core::Device& device = (core::check_environment(), cpu::device());
  return device;
}

const std::vector<core::Device*>& all_devices() {
  static const std::vector<core::Device*> list = [] {
    std::vector<core::Device*> found{&cpu_device()};
#ifdef TYTO_HAVE_OPENCL
    for (core::Device* device : opencl::devices()) found.push_back(device);
#endif
    return found;
  }();
  return list;
}

core::Device& find_device(std::string_view name) {
  if (name == "cpu") return cpu_device();
  const std::string wanted = name == "opencl" ? "opencl:0" : std::string(name);
  std::string names;
  for (core::Device* device : all_devices()) {
    if (device->properties().name == wanted) return *device;
    names += (names.empty() ? "" : ", ") + device->properties().name;
  }
  std::string refused;
#ifdef TYTO_HAVE_OPENCL
  for (const std::string& each : opencl::refused_devices()) refused += "; cannot be used: " + each;
#endif
  core::throw_error<DeviceError>("no device '", std::string(name), "'; there are: ", names, refused);
}

core::Device& current_device() { return chosen_device != nullptr ? *chosen_device : cpu_device(); }
core::Device* exchange_current_device(core::Device* device) { return std::exchange(chosen_device, device); }

std::uint64_t kernel_epoch() { return epoch.load(std::memory_order_relaxed); }

}  // namespace tyto::run

namespace tyto TYTO_API {

namespace {

std::vector<DType> types_of(const core::Device& device) {
  std::vector<DType> types;
  for (int i = 0; i < dtype_count; ++i) {
    const auto type = static_cast<DType>(i);
    const DType pair[] = {type, type};
    const DType truth[] = {DType::boolean};
    if (device.supports(core::OpId::equal, pair, truth)) types.push_back(type);
  }
  return types;
}

}  // namespace

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> list;
  for (core::Device* device : run::all_devices()) {
    const core::DeviceProperties& facts = device->properties();
    list.push_back({facts.name, facts.description, facts.max_buffer, device->allocated(), types_of(*device)});
  }
  return list;
}

DeviceScope::DeviceScope(std::string_view name) : outer_(run::exchange_current_device(&run::find_device(name))) {}
DeviceScope::~DeviceScope() { run::exchange_current_device(static_cast<core::Device*>(outer_)); }

int threads() { return cpu::threads(); }
void threads(int count) {
  cpu::set_threads(count);
  run::epoch.fetch_add(1, std::memory_order_relaxed);
}
ThreadLimit::ThreadLimit(int most) : before_(0) {
  if (most < 1) core::throw_error<ValueError>("ThreadLimit: must be 1 or more, got ", most);
  before_ = cpu::exchange_thread_limit(most);
  if (before_ < most) cpu::exchange_thread_limit(before_);
}
ThreadLimit::~ThreadLimit() { cpu::exchange_thread_limit(before_); }

SubnormalsAsZeros::SubnormalsAsZeros() : before_(cpu::arithmetic_rules()) {
  cpu::set_arithmetic_rules(cpu::without_subnormals(before_));
}
SubnormalsAsZeros::~SubnormalsAsZeros() { cpu::set_arithmetic_rules(before_); }

void trim_memory() { cpu::trim_memory(); }

}  // namespace TYTO_API
