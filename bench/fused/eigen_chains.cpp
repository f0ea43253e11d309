// SPDX-License-Identifier: MIT
// The chains as one Eigen expression each, compiled for the machine they run on.
#include <Eigen/Core>
#include <cmath>

#include "bench/fused/chain_loops.hpp"

namespace tyto::bench {

namespace {

using In = Eigen::Map<const Eigen::ArrayXf>;
using Out = Eigen::Map<Eigen::ArrayXf>;

Eigen::Index length(std::size_t n) { return static_cast<Eigen::Index>(n); }

void multiply_add(const float* a, const float* b, const float* c, float* y, std::size_t n) {
  const In x0(a, length(n)), x1(b, length(n)), x2(c, length(n));
  Out(y, length(n)) = x0 * x1 + x2;
}

void tanh_chain(const float* a, const float* b, const float* c, const float* x, float* y, std::size_t n) {
  const In x0(a, length(n)), x1(b, length(n)), x2(c, length(n)), x3(x, length(n));
  Out(y, length(n)) = (x0 * x3 + x1).tanh() * x2 + (-x3 * x3).exp();
}

double squared_distance(const float* x, const float* y, std::size_t n) {
  return static_cast<double>((In(x, length(n)) - In(y, length(n))).square().sum());
}

void adagrad(float* w, float* s, const float* g, float rate, float epsilon, std::size_t n) {
  // Eigen has no expression with two targets: one block of both at a time.
  constexpr std::size_t block = 1024;
  for (std::size_t i = 0; i < n; i += block) {
    const Eigen::Index count = length(i + block < n ? block : n - i);
    const In gradient(g + i, count);
    Out squares(s + i, count), weights(w + i, count);
    squares += gradient.square();
    weights -= rate * gradient / (squares.sqrt() + epsilon);
  }
}

void softmax(const float* x, float* y, std::size_t rows, std::size_t n) {
  for (; rows > 0; --rows, x += n, y += n) {
    const In from(x, length(n));
    Out to(y, length(n));
    to = (from - from.maxCoeff()).exp();
    to *= 1 / to.sum();
  }
}

void layer_norm(const float* x, const float* g, const float* b, float* y, float epsilon, std::size_t rows,
                std::size_t n) {
  const In scale(g, length(n)), shift(b, length(n));
  for (; rows > 0; --rows, x += n, y += n) {
    const In from(x, length(n));
    const float mean = from.mean();
    const float spread = (from - mean).square().mean();
    Out(y, length(n)) = (from - mean) * (1 / std::sqrt(spread + epsilon)) * scale + shift;
  }
}

}  // namespace

const ChainLoops eigen_chains = {multiply_add, tanh_chain, squared_distance, adagrad, softmax, layer_norm};

}  // namespace tyto::bench
