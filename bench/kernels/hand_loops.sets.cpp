// SPDX-License-Identifier: MIT
// Hand-written chains, compiled once an instruction set.
#include "bench/kernels/hand_loops.hpp"
#include "devices/cpu/arithmetic/vector_math.hpp"

namespace tyto::bench::TYTO_ISA {

namespace math = cpu::TYTO_ISA;

namespace {

void add(const float* a, const float* b, float* y, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

void multiply_add(const float* a, const float* b, const float* c, float* y, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = a[i] * b[i] + c[i];
}

void exp(const float* x, float* y, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = math::exp(x[i]);
}

void add_row(const float* a, const float* row, float* y, std::size_t rows, std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r) add(a + r * columns, row, y + r * columns, columns);
}

void scale(const float* x, float factor, float* y, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

void tanh_chain(const float* a, const float* b, const float* c, const float* x, float* y, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = math::tanh(a[i] * x[i] + b[i]) * c[i] + math::exp(-x[i] * x[i]);
}

}  // namespace

const HandLoops hand_loops = {add, multiply_add, exp, add_row, scale, tanh_chain};

}  // namespace tyto::bench::TYTO_ISA
