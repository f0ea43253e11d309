// SPDX-License-Identifier: MIT
// glibc's vector functions as loops over runs, looked up at run time.
#pragma once

#include "tests/devices/vector_math_runs.hpp"

namespace tyto::bench {

/// The loop over libmvec's function of 512-bit vectors, null where this system has none; n is a multiple of 16.
void (*libmvec_f32(const char* name))(const float* x, float* y, std::size_t n);
void (*libmvec_f64(const char* name))(const double* x, double* y, std::size_t n);

}  // namespace tyto::bench
