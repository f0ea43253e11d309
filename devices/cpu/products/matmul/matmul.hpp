// SPDX-License-Identifier: MIT
// Batched matrix products of strided operands: prepared once, run many times without allocating.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <tyto/dtype.hpp>

#include "devices/cpu/arithmetic/limits.hpp"
#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/loop/result_loop.hpp"
#include "devices/cpu/products/routine.hpp"

namespace tyto::cpu {

/// How a matrix of a batch lies in memory; strides count elements, and any are taken: transposed, broadcast, negative.
struct MatrixLayout {
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  std::vector<std::int64_t> batch_strides = {};  ///< one a batch axis; 0 repeats the matrix
};

/// c[m x n] = a[m x k] b[k x n] for each point of the batch, all of one type or bytes with sums of i32.
///
/// f16 and bf16 accumulate in f32, and are rounded after the sum and after each thing added to it; integers wrap round;
/// for booleans the product is `any(a and b)`.
struct MatmulProblem {
  DType dtype = DType::f32;
  std::optional<DType> bytes = {};  ///< u8 or i8, of a, where b is i8 and dtype i32
  std::int64_t m = 0, n = 0, k = 0;
  std::vector<std::int64_t> batch = {};
  MatrixLayout a, b, c;
  /// run() receives b as pack() left it, for f16 pack() of the product in f32; b must be one matrix for the whole
  /// batch. Bytes that oneDNN does not multiply stay as they are, and packed_bytes() is 0.
  bool packed_b = false;
  bool bias = false;           ///< add n values to each row
  bool accumulate = false;     ///< add to what c holds
  Limits<double> limits = {};  ///< last
};

/// The same with a dense row-major result.
MatmulProblem with_dense_result(MatmulProblem problem);

/// The dense row-major problem without batch.
MatmulProblem dense_matmul(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k);

struct MatmulArguments {
  const void* a = nullptr;
  const void* b = nullptr;  ///< packed when the problem says so
  void* c = nullptr;
  const void* bias = nullptr;
  void* workspace = nullptr;         ///< workspace_bytes(), 64-byte aligned
  const ResultLoop* loop = nullptr;  ///< where takes_loop()
};

using Matmul = Prepared<MatmulArguments>;

/// Chooses and prepares the code for a problem. Throws ValueError for a malformed problem, and DeviceError when
/// `choice` demands an implementation that cannot do it.
Matmul prepare_matmul(const MatmulProblem& problem, const KernelChoice& choice = {});

/// Whether each sum is added in the order in which it is where the result is dense: by the same routine, on matrices of
/// the same sizes.
bool adds_as_if_dense(const MatmulProblem& problem, const KernelChoice& choice = {});

}  // namespace tyto::cpu
