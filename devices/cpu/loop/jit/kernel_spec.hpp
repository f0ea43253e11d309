// SPDX-License-Identifier: MIT
// The specification of machine code: a body and the layout of its operands. Shapes and addresses are given at each
// call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "devices/cpu/loop/jit/code.hpp"
#include "devices/cpu/loop/loop_types.hpp"

namespace tyto::cpu::jit {

/// How the elements of a row follow one another; of results of reductions there is one a row.
enum class Access : std::uint8_t { broadcast, contiguous, strided, reduced };

/// Whether an operand is one part of complex numbers; the other part of each element then lies beside it.
enum class Part : std::uint8_t { whole, real, imaginary };

struct OperandSpec {
  DType stored = DType::f32;
  Access access = Access::contiguous;
  /// Elements machine::prefetch_distance ahead are prefetched into the L2 cache.
  bool prefetched = false;
  /// The access is strided by two elements, of at least 32 bits; of a result only where those between belong to it.
  bool every_second = false;
  Part part = Part::whole;
  friend bool operator==(const OperandSpec&, const OperandSpec&) = default;
};

constexpr bool strides_by_two(DType stored, std::ptrdiff_t column) {
  const auto width = static_cast<std::ptrdiff_t>(size_of(stored));
  return width >= 4 && column == 2 * width;
}

/// `single`: operands of one element; rows follow one another while the frame says so. `non_temporal`: stores of
/// results are non-temporal, from the first one's next multiple of a vector on; all must lie alike there. The
/// caller fences them.
enum class Variant : std::uint8_t { rows, non_temporal, single };

struct KernelSpec {
  Code code;
  std::vector<OperandSpec> inputs, outputs;
  Variant variant = Variant::rows;
};

/// Where an operand lies; strides in bytes. `start` moves from row to row as the code runs, and `cursor` along a row.
struct OperandPointers {
  std::byte* start;
  std::ptrdiff_t row;
  std::ptrdiff_t column;
  std::byte* cursor;
};

/// Arguments of a call: a rectangle of elements, then the places of all operands, inputs first. Unset members stay
/// uninitialised: clearing them would slow launches of small kernels down.
struct Frame {
  std::int64_t rows;  // those that are left, as the code runs
  std::int64_t columns;
  /// Bytes of one-element operands: a row that leaves a zero there is the last one. Not read after the last of `rows`.
  const std::byte* goes_on;
  OperandPointers pointers[2 * most_operands];  // inputs, then outputs
};

/// Code for x86-64 follows System V's calling convention on Windows too: its caller saves what Windows expects kept.
#if defined(_WIN32) && defined(__x86_64__)
using Function = void(__attribute__((sysv_abi)) *)(Frame* frame);
#else
using Function = void (*)(Frame* frame);
#endif

}  // namespace tyto::cpu::jit
