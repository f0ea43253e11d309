// SPDX-License-Identifier: MIT
// Mathematical functions of one element, written so that loops over them vectorise; one copy for each instruction set,
// and one that records its code for the JIT (vector_math/bits.hpp).
//
// Include it in a translation unit that defines TYTO_ISA and is compiled with that set's flags, -O3 -fno-math-errno
// -fno-trapping-math; the functions are then tyto::cpu::TYTO_ISA::exp and so on, for float and double, with the special
// cases of IEEE 754 and C (infinities, NaN, signed zeros, denormal arguments and results). Errors in units of the last
// place are stated and checked in tests/devices/vector_math_test.cpp.
#pragma once

#include "devices/cpu/arithmetic/vector_math/arithmetic.hpp"
#include "devices/cpu/arithmetic/vector_math/error_function.hpp"
#include "devices/cpu/arithmetic/vector_math/exponential.hpp"
#include "devices/cpu/arithmetic/vector_math/exponents.hpp"
#include "devices/cpu/arithmetic/vector_math/gamma.hpp"
#include "devices/cpu/arithmetic/vector_math/logarithm.hpp"
#include "devices/cpu/arithmetic/vector_math/power.hpp"
#include "devices/cpu/arithmetic/vector_math/trigonometric.hpp"
#if !defined(TYTO_RECORDED_LANES)
#include "devices/cpu/arithmetic/vector_math/runs.hpp"
#endif
