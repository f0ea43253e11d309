// SPDX-License-Identifier: MIT
// Roots of unity to the last digit, which Fourier transforms on every device are made of.
#pragma once

#include <complex>
#include <cstdint>

namespace tyto::core {

/// e^(-2 pi i numerator / denominator), of a numerator that is not negative.
std::complex<long double> root_of_unity(std::int64_t numerator, std::int64_t denominator);

}  // namespace tyto::core
