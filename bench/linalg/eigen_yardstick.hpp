// SPDX-License-Identifier: MIT
// Eigen's factorisations of square matrices of f64, by name; see linalg_bench.cpp.
#pragma once

#include <cstdint>
#include <string>

namespace tyto::bench {

/// Runs one, in place of work, on a general, a symmetric and a positive definite matrix; false where Eigen has none of
/// that name. Compiled for the processor's baseline, and for the machine it runs on.
bool portable_eigen(const std::string& name, std::int64_t size, const double* general, const double* symmetric,
                    const double* definite);
bool native_eigen(const std::string& name, std::int64_t size, const double* general, const double* symmetric,
                  const double* definite);

}  // namespace tyto::bench
