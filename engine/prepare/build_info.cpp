// SPDX-License-Identifier: MIT
// Lists the parts of a build, device by device.
#include "tyto/build_info.hpp"

#include "core/value/text.hpp"
#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/loop/jit/compile.hpp"

namespace tyto TYTO_API {

namespace {

#if defined(TYTO_HAVE_OPENCL)
constexpr bool has_opencl = true;
#else
constexpr bool has_opencl = false;
#endif
#if defined(TYTO_HAVE_EIGEN)
constexpr bool has_eigen = true;
#else
constexpr bool has_eigen = false;
#endif
#if defined(TYTO_HAVE_CLBLAST)
constexpr bool has_clblast = true;
#else
constexpr bool has_clblast = false;
#endif
#if defined(TYTO_HAVE_CBC)
constexpr bool has_cbc = true;
#else
constexpr bool has_cbc = false;
#endif
#if TYTO_HAVE_PNG
constexpr bool has_png = true;
#else
constexpr bool has_png = false;
#endif
#if TYTO_HAVE_JPEG
constexpr bool has_jpeg = true;
#else
constexpr bool has_jpeg = false;
#endif

const char* in_words(bool is_built) { return is_built ? "built in" : "not built in"; }

std::string jit_in_words() {
#if defined(TYTO_JIT_LACKS)
  return "not built in (" TYTO_JIT_LACKS "): loops over elements are interpreted";
#else
  if (cpu::jit::is_available()) return "built in";
  return core::text("built in, not used here (", cpu::jit::unavailable_reason(),
                    "): loops over elements are interpreted");
#endif
}

}  // namespace

std::vector<BuildPart> build_info() {
  const auto only = cpu::only_compiled_set();
  const std::string used = cpu::name_of(cpu::instruction_set()), onednn = cpu::onednn_version();
  return {{"instruction sets", only ? core::text(cpu::name_of(*only), " only")
                                    : core::text("baseline, avx2, avx512; ", used, " is used here")},
          {"JIT", jit_in_words()},
          {"oneDNN", onednn.empty() ? in_words(false) : onednn},
          {"Eigen", in_words(has_eigen)},
          {"OpenCL", in_words(has_opencl)},
          {"CLBlast", in_words(has_clblast)},
          {"Cbc", in_words(has_cbc)},
          {"PNG", in_words(has_png)},
          {"JPEG", in_words(has_jpeg)}};
}

}  // namespace TYTO_API
