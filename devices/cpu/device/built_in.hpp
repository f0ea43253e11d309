// SPDX-License-Identifier: MIT
// Describes the CPU kernels of this build: instruction sets, oneDNN, JIT.
#pragma once

#include <string>

namespace tyto::cpu {

/// "baseline, avx2, avx512; avx2 is used here".
std::string instruction_sets_in_words();
/// The version of oneDNN, or that it is not built in.
std::string onednn_in_words();
/// Whether loops over elements become machine code, and if not, why.
std::string machine_code_in_words();

}  // namespace tyto::cpu
