// SPDX-License-Identifier: MIT
// The loops over rows of scores that attention needs between its products.
#pragma once

#include <cstdint>

#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu::attention {

/// Exponentials are taken of so many elements at a time: rows have room for a multiple of them.
inline constexpr std::int64_t row_lanes = 32;

constexpr std::int64_t with_room(std::int64_t count) noexcept {
  return (count + row_lanes - 1) / row_lanes * row_lanes;
}

/// The part of softmax that is known of a row so far: its greatest score, and the sum of exp(score - greatest).
template <class T>
struct RunningSoftmax {
  T greatest = -static_cast<T>(__builtin_inf());
  T total = 0;
};

template <class T>
struct RowLoops {
  /// Scores times `scale`, plus `added` unless that is null, become exp(score - greatest), with the greatest of them
  /// and of all before; beyond them the row's room is filled with zeros. Returns what sums made with the greatest
  /// before are to be multiplied by.
  T (*soften)(std::int64_t count, T* scores, const T* added, T scale, RunningSoftmax<T>& row) = nullptr;
  /// values *= factor
  void (*scale)(std::int64_t count, T* values, T factor) = nullptr;
  /// Scores become weights exp(score * scale + added - log_sum), and `inner` the scores' gradient by what they were
  /// before scaling: weight * (inner - delta) * scale. Elements of log_sums and deltas belong to those of scores;
  /// `count` is a multiple of row_lanes.
  void (*differentiate)(std::int64_t count, T* scores, T* inner, const T* added, T scale, const T* log_sums,
                        const T* deltas) = nullptr;
};

/// The loops for an instruction set.
template <class T>
const RowLoops<T>& row_loops(InstructionSet set) noexcept;

namespace baseline {
const RowLoops<float>& row_loops_f32() noexcept;
const RowLoops<double>& row_loops_f64() noexcept;
}  // namespace baseline
namespace avx2 {
const RowLoops<float>& row_loops_f32() noexcept;
const RowLoops<double>& row_loops_f64() noexcept;
}  // namespace avx2
namespace avx512 {
const RowLoops<float>& row_loops_f32() noexcept;
const RowLoops<double>& row_loops_f64() noexcept;
}  // namespace avx512

}  // namespace tyto::cpu::attention
