// SPDX-License-Identifier: MIT
// What was decided when the library was compiled, beside what the processor has and the environment asks for.
#include "devices/cpu/device/built_in.hpp"

#if defined(TYTO_HAVE_ONEDNN)
#include <dnnl.hpp>
#endif

#include "core/value/text.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/target.hpp"
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
  if (!jit::is_built_in()) return "not built in: loops over elements are interpreted";
  return jit::is_available() ? "built in" : "built in, not used here: the processor lacks avx2, or TYTO_JIT is 0";
}

}  // namespace tyto::cpu
