// SPDX-License-Identifier: MIT
// The table of environment variables, and the validation of their values.
#include "core/system/environment.hpp"

#if defined(__APPLE__)
#include <crt_externs.h>
#else
#include <unistd.h>
#endif
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

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
bool is_number_check(std::string_view value) { return is_one_of(value, {"0", "1", "inf"}); }
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
    {"TYTO_NAN", "0, 1 or inf",
     "1: the first NaN is an error that names its operator, layer and element; inf: infinities of finite operands too",
     is_number_check},
    {"TYTO_TRACE", "0 or 1", "1: live_tensors() knows the tensors that are alive and where they were made", is_flag},
    {"TYTO_VERIFY", "0 or 1", "1: each run is compared with one in which no two tensors share memory", is_flag},
    {"TYTO_OPENCL_DEVICE", "part of a name, a number, or none", "the OpenCL devices that are used", is_any},
    {"TYTO_OPENCL_STYLE", "cpu or gpu", "matrix products made for a device of that type, whatever the device is",
     is_style},
    {"TYTO_OPENCL_OPTIONS", "options, such as -cl-opt-disable", "further options for the compiler of OpenCL programs",
     is_any},
    {"TYTO_CACHE_DIR", "a folder, or nothing for none",
     "where built OpenCL programs are kept, else $XDG_CACHE_HOME/tyto or ~/.cache/tyto", is_any},
    {"TYTO_LAUNCH_STATUS", "a file", "set by tyto launch: where a process that fails leaves its status", is_any},
};

char** environment_lines() {
#if defined(__APPLE__)
  return *_NSGetEnviron();  // dynamic libraries have no `environ` there
#else
  return environ;
#endif
}

// How many letters lie between two words: inserted, left out, replaced, or two that changed places.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        steps[i][j] = i + j;
        continue;
      }
      steps[i][j] = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps.back().back();
}

// Names that nearly match one of ours; others with this prefix may be a program's own.
void warn_of_misspelt_names() {
  constexpr std::size_t near = 2;
  for (char** entry = environment_lines(); entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const std::string_view name = line.substr(0, line.find('='));
    if (!name.starts_with("TYTO_")) continue;
    const auto known = std::ranges::min(
        variables, {}, [&](const EnvironmentVariable& variable) { return distance(name, variable.name); });
    const std::size_t apart = distance(name, known.name);
    if (apart == 0 || apart > near) continue;
    const std::string warning =
        text("tyto: nothing reads the environment variable ", name, " (did you mean ", known.name, "?)\n");
    std::fputs(warning.c_str(), stderr);
  }
}

void require_accepted(const EnvironmentVariable& variable, std::string_view value) {
  if (variable.accepts(value)) return;
  throw_error<ValueError>("the environment has ", variable.name, "=", value, "; it takes ", variable.values);
}

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return variables; }

std::optional<std::string_view> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  // An empty folder for OpenCL programs means none; elsewhere an empty value is as good as none.
  if (value == nullptr || (*value == '\0' && name != "TYTO_CACHE_DIR")) return std::nullopt;
  return std::string_view(value);
}

bool environment_flag(std::string_view name) {
  const auto value = environment(name);
  if (value) require_accepted(*std::ranges::find(variables, name, &EnvironmentVariable::name), *value);
  return value == "1";
}

void check_environment() {
  for (const EnvironmentVariable& variable : variables) {
    if (const auto value = environment(variable.name)) require_accepted(variable, *value);
  }
  static std::once_flag reported;
  std::call_once(reported, warn_of_misspelt_names);
}

}  // namespace tyto::core
