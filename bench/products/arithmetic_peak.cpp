// SPDX-License-Identifier: MIT
// The register-only multiply-add loop; compiled for the machine it runs on.
#include "bench/products/arithmetic_peak.hpp"

#include <omp.h>

#include "bench/measurement.hpp"

namespace tyto::bench {

namespace {

#if defined(__AVX512F__)
typedef float Vector __attribute__((vector_size(64)));
#elif defined(__AVX__)
typedef float Vector __attribute__((vector_size(32)));
#else
typedef float Vector __attribute__((vector_size(16)));
#endif

float multiply_add(long rounds) {
  constexpr int chains = 12;
  // Volatile, and different for each chain: the compiler can neither shorten the loop nor merge chains.
  volatile float factor = 0.999f, addend = 0.5f;
  const Vector x = Vector{} + factor, y = Vector{} + addend;
  Vector sum[chains];
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i) sum[i] = Vector{} + addend * static_cast<float>(i);
  for (long round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sum[i] = sum[i] * x + y;
  }
  float total = 0;
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i) total += sum[i][0];
  return total;
}

}  // namespace

double fma_peak(int threads) {
  constexpr long rounds = 200000;
  volatile float sink = 0;
  const double seconds = fastest(threads, [&] {
#pragma omp parallel num_threads(threads)
    sink = multiply_add(rounds);
  });
  const double lanes = sizeof(Vector) / sizeof(float);
  return 2.0 * lanes * 12 * static_cast<double>(rounds) * threads / seconds;
}

}  // namespace tyto::bench
