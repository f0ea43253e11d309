// SPDX-License-Identifier: MIT
// Instruction sets that kernels are chosen among, in builds for all of them and for one.
#include "devices/cpu/system/instruction_set.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <tyto/error.hpp>

#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/target.hpp"
#include "devices/cpu/products/tile/tile.hpp"

namespace tyto::cpu {

TEST_CASE("a build for one instruction set refuses a processor without it by name") {
  CHECK_NOTHROW(require_compiled_set(InstructionSet::baseline, std::nullopt));
  CHECK_NOTHROW(require_compiled_set(InstructionSet::avx2, InstructionSet::avx2));
  CHECK_NOTHROW(require_compiled_set(InstructionSet::avx512, InstructionSet::avx2));
  std::string message;
  try {
    require_compiled_set(InstructionSet::avx2, InstructionSet::avx512);
  } catch (const DeviceError& error) {
    message = error.what();
  }
  CHECK(
      message ==
      "cpu: the kernels of this build are compiled for avx512, which this processor lacks (it has avx2); a build with "
      "TYTO_INSTRUCTION_SETS=all has kernels for every processor");
}

TEST_CASE("AArch64 has one set, NEON, whose tile has 4 vectors a row") {
#if defined(__aarch64__)
  CHECK(widest_instruction_set() == InstructionSet::baseline);
  CHECK(std::string(name_of(InstructionSet::baseline)) == "neon");
  CHECK(processor_name() == "AArch64 processor");
  CHECK(tiles<float>(InstructionSet::baseline).width() == 16);
  CHECK(tiles<double>(InstructionSet::baseline).width() == 8);
#else
  CHECK(std::string(name_of(InstructionSet::baseline)) == "baseline");
  if (!only_compiled_set()) CHECK(tiles<float>(InstructionSet::baseline).width() == 8);
#endif
}

TEST_CASE("loops are machine code wherever it is part of the build and the processor is one it is written for") {
  const char* const wish = std::getenv("TYTO_JIT");
  const bool is_wanted = wish == nullptr || std::string_view(wish) != "0";
#if defined(__aarch64__)
  const bool is_known = true;
#else
  const bool is_known = instruction_set() >= InstructionSet::avx2;
#endif
  CHECK(jit::is_available() == (jit::is_built_in() && is_wanted && is_known));
}

}  // namespace tyto::cpu
