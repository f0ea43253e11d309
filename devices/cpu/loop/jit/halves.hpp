// SPDX-License-Identifier: MIT
// Code in which vectors hold as many lanes as fit of 32 bits, though some lanes have 64: each of their values becomes
// two, of the first half of the elements and of the second.
#pragma once

#include <optional>

#include "devices/cpu/loop/jit/kernel_spec.hpp"

namespace tyto::cpu::jit {

/// The code in halves, for targets that emit it. Nothing where too little is narrow for that to pay, or where a loop is
/// called on wide lanes.
std::optional<Code> in_halves(const KernelSpec& spec, bool scales);

}  // namespace tyto::cpu::jit
