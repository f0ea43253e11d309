// SPDX-License-Identifier: MIT
// Lists the parts of a build, device by device.
#include "tyto/build_info.hpp"

#include "devices/cpu/device/built_in.hpp"

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

}  // namespace

std::vector<BuildPart> build_info() {
  return {{"instruction sets", cpu::instruction_sets_in_words()},
          {"JIT", cpu::machine_code_in_words()},
          {"oneDNN", cpu::onednn_in_words()},
          {"Eigen", in_words(has_eigen)},
          {"OpenCL", in_words(has_opencl)},
          {"CLBlast", in_words(has_clblast)},
          {"Cbc", in_words(has_cbc)},
          {"PNG", in_words(has_png)},
          {"JPEG", in_words(has_jpeg)}};
}

}  // namespace TYTO_API
