// SPDX-License-Identifier: MIT
// The loops that a programmer would write by hand for the chains that fused_bench times, for each instruction set.
#pragma once

#include <cstddef>

namespace tyto::bench {

struct ChainLoops {
  /// y = a b + c
  void (*multiply_add)(const float* a, const float* b, const float* c, float* y, std::size_t n);
  /// y = tanh(a x + b) c + exp(-x x)
  void (*tanh_chain)(const float* a, const float* b, const float* c, const float* x, float* y, std::size_t n);
  /// The sum of (x - y)^2.
  double (*squared_distance)(const float* x, const float* y, std::size_t n);
  /// s += g g; w -= rate g / (sqrt(s) + epsilon)
  void (*adagrad)(float* w, float* s, const float* g, float rate, float epsilon, std::size_t n);
  /// Row by row: y = exp(x - max(x)) / sum(exp(x - max(x)))
  void (*softmax)(const float* x, float* y, std::size_t rows, std::size_t length);
  /// Row by row: y = (x - mean(x)) / sqrt(var(x) + epsilon) g + b
  void (*layer_norm)(const float* x, const float* g, const float* b, float* y, float epsilon, std::size_t rows,
                     std::size_t length);
};

namespace baseline {
extern const ChainLoops chain_loops;
}
namespace avx2 {
extern const ChainLoops chain_loops;
}
namespace avx512 {
extern const ChainLoops chain_loops;
}

extern const ChainLoops eigen_chains;

}  // namespace tyto::bench
