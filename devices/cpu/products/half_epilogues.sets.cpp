// SPDX-License-Identifier: MIT
// Epilogues of half-precision products, a vector at a time, so that what is rounded in between stays in registers.
#include <cstddef>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "core/value/half_bits.hpp"
#include "devices/cpu/arithmetic/simd.hpp"
#include "devices/cpu/products/half_epilogues.hpp"

namespace tyto::cpu::TYTO_ISA {

namespace {

// No more: most numbers of channels are multiples of 8, and longer vectors are converted in parts of these.
constexpr int lanes = TYTO_VECTOR_BYTES < 32 ? 4 : 8;
using Floats = Simd<float, 4 * lanes>;
using Halves = Simd<std::uint16_t, 2 * lanes>;

struct F16 {
  [[gnu::always_inline]] static inline Floats::Vector widen(Halves::Vector from) {
#if defined(__F16C__)
    return (Floats::Vector)_mm256_cvtph_ps((__m128i)from);
#else
    Floats::Vector to{};
    for (int i = 0; i < lanes; ++i) to[i] = core::widen_half(from[i]);
    return to;
#endif
  }
  [[gnu::always_inline]] static inline Halves::Vector narrow(Floats::Vector from) {
#if defined(__F16C__)
    return (Halves::Vector)_mm256_cvtps_ph((__m256)from, _MM_FROUND_TO_NEAREST_INT);
#else
    Halves::Vector to{};
    for (int i = 0; i < lanes; ++i) to[i] = core::narrow_to_half(from[i]);
    return to;
#endif
  }
};

struct Bfloat {
  [[gnu::always_inline]] static inline Floats::Vector widen(Halves::Vector from) {
    Floats::Vector to{};
    for (int i = 0; i < lanes; ++i) to[i] = core::widen_bfloat(from[i]);
    return to;
  }
  [[gnu::always_inline]] static inline Halves::Vector narrow(Floats::Vector from) {
    Halves::Vector to{};
    for (int i = 0; i < lanes; ++i) to[i] = core::narrow_to_bfloat(from[i]);
    return to;
  }
};

/// One vector of results.
template <class Half>
[[gnu::always_inline]] inline void end_vector(const float* sums, const std::uint16_t* bias,
                                              const std::uint16_t* residual, const Limits<float>& limits,
                                              std::uint16_t* to) {
  Halves::Vector rounded = Half::narrow(Floats::load(sums));
  if (bias != nullptr) rounded = Half::narrow(Half::widen(rounded) + Half::widen(Halves::load(bias)));
  if (residual != nullptr) rounded = Half::narrow(Half::widen(rounded) + Half::widen(Halves::load(residual)));
  if (limits.any()) rounded = Half::narrow(limits(Half::widen(rounded)));
  Halves::store(to, rounded);
}

/// The last elements, with zeros behind them.
template <class T>
[[gnu::always_inline]] inline const T* padded(const T* from, std::int64_t count, T (&copy)[lanes]) {
  for (int i = 0; i < lanes; ++i) copy[i] = from == nullptr || i >= count ? T(0) : from[i];
  return from == nullptr ? nullptr : copy;
}

template <class Half>
void end_row(const float* sums, const std::uint16_t* bias, const std::uint16_t* residual, const Limits<float>& limits,
             std::uint16_t* to, std::int64_t count) {
  for (; count >= lanes; count -= lanes, sums += lanes, to += lanes) {
    end_vector<Half>(sums, bias, residual, limits, to);
    if (bias != nullptr) bias += lanes;
    if (residual != nullptr) residual += lanes;
  }
  if (count == 0) return;
  float last_sums[lanes];
  std::uint16_t last_of_bias[lanes], last_of_residual[lanes], last[lanes];
  end_vector<Half>(padded(sums, count, last_sums), padded(bias, count, last_of_bias),
                   padded(residual, count, last_of_residual), limits, last);
  for (std::int64_t i = 0; i < count; ++i) to[i] = last[i];
}

}  // namespace

HalfEpilogueLoops half_epilogue_loops() noexcept { return {end_row<F16>, end_row<Bfloat>}; }

}  // namespace tyto::cpu::TYTO_ISA
