// SPDX-License-Identifier: MIT
// Options of the build, compared with what the processor has and the environment asks for.
#include "devices/cpu/device/built_in.hpp"

#if defined(TYTO_HAVE_ONEDNN)
#include <dnnl.hpp>
#endif

#include "core/value/text.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

std::string instruction_sets_in_words() {
  const std::string used = name_of(instruction_set());
  if (const auto only = only_compiled_set()) return core::text(name_of(*only), " only");
  return core::text("baseline, avx2, avx512; ", used, " is used here");
}

std::string onednn_in_words() {
#if defined(TYTO_HAVE_ONEDNN)
  const dnnl_version_t* const version = dnnl_version();
  return core::text(version->major, ".", version->minor, ".", version->patch);
#else
  return "not built in";
#endif
}

std::string machine_code_in_words() {
#if defined(TYTO_JIT_LACKS)
  return "not built in (" TYTO_JIT_LACKS "): loops over elements are interpreted";
#else
  if (jit::is_available()) return "built in";
  return core::text("built in, not used here (", jit::unavailable_reason(), "): loops over elements are interpreted");
#endif
}

}  // namespace tyto::cpu
