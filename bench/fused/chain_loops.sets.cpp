// SPDX-License-Identifier: MIT
// Hand-written chains, compiled once an instruction set.
#include "bench/fused/chain_loops.hpp"
#include "devices/cpu/arithmetic/vector_math.hpp"

namespace tyto::bench::TYTO_ISA {

namespace math = cpu::TYTO_ISA;

namespace {

void multiply_add(const float* a, const float* b, const float* c, float* y, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = a[i] * b[i] + c[i];
}

void tanh_chain(const float* a, const float* b, const float* c, const float* x, float* y, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = math::tanh(a[i] * x[i] + b[i]) * c[i] + math::exp(-x[i] * x[i]);
}

double squared_distance(const float* x, const float* y, std::size_t n) {
  constexpr std::size_t lanes = 64, block = 4096;
  double sum = 0;
  for (std::size_t begin = 0; begin < n; begin += block) {
    const std::size_t end = begin + block < n ? begin + block : n;
    float sums[lanes] = {};
    std::size_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      for (std::size_t k = 0; k < lanes; ++k) {
        const float difference = x[i + k] - y[i + k];
        sums[k] += difference * difference;
      }
    }
    for (; i < end; ++i) sums[0] += (x[i] - y[i]) * (x[i] - y[i]);
    float part = 0;
    for (std::size_t k = 0; k < lanes; ++k) part += sums[k];
    sum += static_cast<double>(part);
  }
  return sum;
}

void adagrad(float* w, float* s, const float* g, float rate, float epsilon, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    s[i] += g[i] * g[i];
    w[i] -= rate * g[i] / (math::sqrt(s[i]) + epsilon);
  }
}

constexpr std::size_t row_lanes = 64;

struct Plus {
  static float apply(float a, float b) { return a + b; }
};
struct Larger {
  static float apply(float a, float b) { return a > b ? a : b; }
};

/// Op over of(i) for all i < n.
template <class Op, class Of>
[[gnu::always_inline]] inline float fold(std::size_t n, float start, const Of& of) {
  float lanes[row_lanes];
  for (std::size_t k = 0; k < row_lanes; ++k) lanes[k] = start;
  std::size_t i = 0;
  for (; i + row_lanes <= n; i += row_lanes) {
    for (std::size_t k = 0; k < row_lanes; ++k) lanes[k] = Op::apply(lanes[k], of(i + k));
  }
  for (; i < n; ++i) lanes[0] = Op::apply(lanes[0], of(i));
  for (std::size_t half = row_lanes / 2; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) lanes[k] = Op::apply(lanes[k], lanes[k + half]);
  }
  return lanes[0];
}

void softmax(const float* x, float* y, std::size_t rows, std::size_t length) {
  for (; rows > 0; --rows, x += length, y += length) {
    const float largest = fold<Larger>(length, x[0], [&](std::size_t i) { return x[i]; });
#pragma GCC ivdep
    for (std::size_t i = 0; i < length; ++i) y[i] = math::exp(x[i] - largest);
    const float scale = 1 / fold<Plus>(length, 0, [&](std::size_t i) { return y[i]; });
    for (std::size_t i = 0; i < length; ++i) y[i] *= scale;
  }
}

void layer_norm(const float* x, const float* g, const float* b, float* y, float epsilon, std::size_t rows,
                std::size_t length) {
  const float count = static_cast<float>(length);
  for (; rows > 0; --rows, x += length, y += length) {
    const float mean = fold<Plus>(length, 0, [&](std::size_t i) { return x[i]; }) / count;
    const float squares = fold<Plus>(length, 0, [&](std::size_t i) { return (x[i] - mean) * (x[i] - mean); });
    const float scale = 1 / math::sqrt(squares / count + epsilon);
#pragma GCC ivdep
    for (std::size_t i = 0; i < length; ++i) y[i] = (x[i] - mean) * scale * g[i] + b[i];
  }
}

}  // namespace

const ChainLoops chain_loops = {multiply_add, tanh_chain, squared_distance, adagrad, softmax, layer_norm};

}  // namespace tyto::bench::TYTO_ISA
