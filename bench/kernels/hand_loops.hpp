// SPDX-License-Identifier: MIT
// The loops that a programmer would write by hand for the chains that elementwise_bench times, for each instruction
// set.
#pragma once

#include <cstddef>

namespace tyto::bench {

struct HandLoops {
  void (*add)(const float* a, const float* b, float* y, std::size_t n);
  void (*multiply_add)(const float* a, const float* b, const float* c, float* y, std::size_t n);
  void (*exp)(const float* x, float* y, std::size_t n);
  void (*add_row)(const float* a, const float* row, float* y, std::size_t rows, std::size_t columns);
  void (*scale)(const float* x, float factor, float* y, std::size_t n);
  /// tanh(a x + b) c + exp(-x x)
  void (*tanh_chain)(const float* a, const float* b, const float* c, const float* x, float* y, std::size_t n);
};

namespace baseline {
extern const HandLoops hand_loops;
}
namespace avx2 {
extern const HandLoops hand_loops;
}
namespace avx512 {
extern const HandLoops hand_loops;
}

}  // namespace tyto::bench
