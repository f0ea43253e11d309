// SPDX-License-Identifier: MIT
// Eigen's matrix product, compiled for the machine it runs on.
#include "bench/products/eigen_product.hpp"

#include <algorithm>

#include <Eigen/Core>

namespace tyto::bench {

void eigen_product(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Matrix>(c, m, n).noalias() = Eigen::Map<const Matrix>(a, m, k) * Eigen::Map<const Matrix>(b, k, n);
}

void eigen_convolution(const ImageConvolution& layer, const float* input, const float* weights, float* output,
                       float* patches) {
  const std::int64_t out = layer.output(), row = layer.kernel * layer.channels, depth = layer.kernel * row;
  const bool is_product = layer.kernel == 1 && layer.stride == 1 && layer.padding == 0;
#pragma omp parallel for if (!is_product)
  for (std::int64_t y = 0; y < (is_product ? 0 : out); ++y) {
    for (std::int64_t x = 0; x < out; ++x) {
      float* patch = patches + (y * out + x) * depth;
      for (std::int64_t ky = 0; ky < layer.kernel; ++ky, patch += row) {
        const std::int64_t iy = y * layer.stride + ky - layer.padding, ix = x * layer.stride - layer.padding;
        const std::int64_t from = std::max<std::int64_t>(ix, 0), end = std::min(ix + layer.kernel, layer.size);
        std::fill_n(patch, row, 0.0f);
        if (iy < 0 || iy >= layer.size || from >= end) continue;
        std::copy(input + (iy * layer.size + from) * layer.channels, input + (iy * layer.size + end) * layer.channels,
                  patch + (from - ix) * layer.channels);
      }
    }
  }
  eigen_product(is_product ? input : patches, weights, output, out * out, layer.filters, depth);
}

void set_eigen_threads(int count) { Eigen::setNbThreads(count); }

}  // namespace tyto::bench
