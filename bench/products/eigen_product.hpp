// SPDX-License-Identifier: MIT
// Eigen's matrix product, the yardstick for our own.
#pragma once

#include <cstdint>

namespace tyto::bench {

/// c = a b, dense and row-major, on Eigen's OpenMP threads.
void eigen_product(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k);

/// Geometry of a square-image convolution with as much padding before as after.
struct ImageConvolution {
  std::int64_t size, channels, filters, kernel, stride, padding;
  std::int64_t output() const { return (size + 2 * padding - kernel) / stride + 1; }
};

/// A convolution as patches times weights; `patches` holds output()^2 rows of kernel^2 * channels.
void eigen_convolution(const ImageConvolution& layer, const float* input, const float* weights, float* output,
                       float* patches);

void set_eigen_threads(int count);

}  // namespace tyto::bench
