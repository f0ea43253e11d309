// Code for two vectors of elements side by side.
#pragma once

#include "devices/cpu/jit/kernel_spec.hpp"

namespace tyto::cpu::jit {

/// Adds the instructions of a second vector to long bodies whose operands follow the elements of a row. Functions are
/// chains of instructions that wait for one another, and processors look some hundred instructions ahead: past the end
/// of a short body, which is the next vector's, but not of a long one.
void add_second_vector(KernelSpec& spec);

}  // namespace tyto::cpu::jit
