// SPDX-License-Identifier: MIT
// Declarations of what is compiled once for each instruction set. Includes nothing: sources compiled for one set must
// not emit inline functions that the linker could share with the others.
#pragma once

namespace tyto::cpu {

enum class InstructionSet;

}  // namespace tyto::cpu

/// The same declarations in the namespace of each set, of which compiled_sets.cpp chooses one.
#define TYTO_IN_EACH_SET(...) \
  namespace baseline {        \
  __VA_ARGS__                 \
  }                           \
  namespace avx2 {            \
  __VA_ARGS__                 \
  }                           \
  namespace avx512 {          \
  __VA_ARGS__                 \
  }
