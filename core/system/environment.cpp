// The table of environment variables, and the check of what the environment says.
#include "core/system/environment.hpp"

#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <tyto/error.hpp>

#include "core/value/text.hpp"

namespace tyto::core {

namespace {

template <std::size_t count>
bool is_one_of(std::string_view value, const std::string_view (&known)[count]) {
  return std::ranges::find(known, value) != std::end(known);
}

bool is_any(std::string_view) { return true; }
bool is_flag(std::string_view value) { return is_one_of(value, {"0", "1"}); }
bool is_instruction_set(std::string_view value) { return is_one_of(value, {"baseline", "avx2", "avx512"}); }
bool is_style(std::string_view value) { return is_one_of(value, {"cpu", "gpu"}); }
bool is_thread_count(std::string_view value) {
  int count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  return error == std::errc() && end == value.data() + value.size() && count >= 1 && count <= 1024;
}

constexpr EnvironmentVariable variables[] = {
    {"TYTO_THREADS", "1 to 1024", "threads of the CPU device, where the program sets no number", is_thread_count},
    {"TYTO_ISA", "baseline, avx2 or avx512",
     "the widest instruction set of the CPU's kernels; no effect in a build for one set, or beyond the processor's",
     is_instruction_set},
    {"TYTO_JIT", "0 or 1", "0: loops over elements are interpreted, slower and with the same bits", is_flag},
    {"TYTO_PASSES", "a choice of passes, such as -fuse", "passes of the optimiser, behind those of the options",
     is_any},
    {"TYTO_MEMORY", "a memory strategy, such as bump", "how memory is planned where the options name no strategy",
     is_any},
    {"TYTO_CHECK_PLANS", "0 or 1", "1: each memory plan is checked", is_flag},
    {"TYTO_POISON", "0 or 1", "1: memory is filled with NaN when what it held is no longer needed", is_flag},
    {"TYTO_VERIFY", "0 or 1", "1: each run is compared with one in which no two tensors share memory", is_flag},
    {"TYTO_OPENCL_DEVICE", "part of a name, a number, or none", "the OpenCL devices that are used", is_any},
    {"TYTO_OPENCL_STYLE", "cpu or gpu", "kernels made for a device of that type, whatever the device is", is_style},
    {"TYTO_OPENCL_OPTIONS", "options, such as -cl-opt-disable", "further options for the compiler of OpenCL programs",
     is_any},
    {"TYTO_CACHE_DIR", "a folder, or nothing for none",
     "where built OpenCL programs are kept, else $XDG_CACHE_HOME/tyto or ~/.cache/tyto", is_any},
};

// What the script `dev`, examples and tests read, and the library does not.
constexpr std::string_view names_of_tools[] = {"TYTO_DATA", "TYTO_PRESET", "TYTO_NO_INSTALL", "TYTO_INSTRUCTION_SETS"};

bool is_known(std::string_view name) {
  return std::ranges::find(variables, name, &EnvironmentVariable::name) != std::end(variables) ||
         std::ranges::find(names_of_tools, name) != std::end(names_of_tools);
}

void warn_of_unknown_names() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const std::string_view name = line.substr(0, line.find('='));
    if (!name.starts_with("TYTO_") || is_known(name)) continue;
    const std::string warning =
        text("tyto: nothing reads the environment variable ", name, "; `tyto environment` lists those that are read\n");
    std::fputs(warning.c_str(), stderr);
  }
}

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return variables; }

std::optional<std::string_view> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(value);
}

bool environment_flag(std::string_view name) { return environment(name) == "1"; }

void check_environment() {
  for (const EnvironmentVariable& variable : variables) {
    const auto value = environment(variable.name);
    if (value && !value->empty() && !variable.accepts(*value))
      throw ValueError(text("the environment has ", variable.name, "=", *value, "; it takes ", variable.values));
  }
  static std::once_flag told;
  std::call_once(told, warn_of_unknown_names);
}

}  // namespace tyto::core
