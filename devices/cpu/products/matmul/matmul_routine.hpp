// SPDX-License-Identifier: MIT
// The interface between matmul's front and its implementations.
#pragma once

#include <memory>

#include "devices/cpu/products/matmul/matmul.hpp"

namespace tyto::cpu {

class MatmulRoutine : public Routine<MatmulArguments> {
 public:
  /// Whether the order in which terms are added, and with it the bits, may depend on how far rows lie apart.
  virtual bool order_depends_on_strides() const noexcept { return false; }
};

/// Visits the points of a batch: the element offsets of its three matrices.
struct BatchOffsets {
  std::int64_t a = 0, b = 0, c = 0;
};
std::int64_t batch_count(const MatmulProblem& problem) noexcept;
BatchOffsets batch_offsets(const MatmulProblem& problem, std::int64_t point) noexcept;

/// Threads for the whole problem at a pessimistic speed of one thread, or what the choice demands.
int matmul_threads(const MatmulProblem& problem, const KernelChoice& choice, double operations_per_nanosecond) noexcept;
/// Threads by which weights are laid out that outlive the kernel.
int matmul_layout_threads(const MatmulProblem& problem, double operations_per_nanosecond) noexcept;

/// Whether dot products would do it.
bool is_dot_matmul(const MatmulProblem& problem) noexcept;

/// f32 and f64, read where they lie: of so few elements that nothing is worth being packed, and one row by a matrix;
/// null for other problems.
std::unique_ptr<MatmulRoutine> prepare_unpacked_matmul(const MatmulProblem& problem, const KernelChoice& choice);
/// f32 and f64 of few rows by a transposed matrix, or of two rows and two columns whose elements alternate, as the
/// parts of complex numbers do; null for other problems.
std::unique_ptr<MatmulRoutine> prepare_dot_matmul(const MatmulProblem& problem, const KernelChoice& choice);
/// f32 and f64 by register tiles.
std::unique_ptr<MatmulRoutine> prepare_panel_matmul(const MatmulProblem& problem, const KernelChoice& choice);
/// Integers and booleans.
std::unique_ptr<MatmulRoutine> prepare_integer_matmul(const MatmulProblem& problem, const KernelChoice& choice);
/// f16 and bf16 through f32 copies in the workspace.
std::unique_ptr<MatmulRoutine> prepare_half_matmul(const MatmulProblem& problem, const KernelChoice& choice);
/// A half-precision problem without bias, residual and ReLU, with a dense result where one is added to what c holds.
MatmulProblem without_epilogue(const MatmulProblem& problem);
/// The product made for without_epilogue(problem), followed by the epilogue if there is one.
std::unique_ptr<MatmulRoutine> add_half_epilogue(const MatmulProblem& problem, const KernelChoice& choice,
                                                 std::unique_ptr<MatmulRoutine> product);
/// bf16 and bytes by oneDNN; null where it cannot take the problem.
std::unique_ptr<MatmulRoutine> prepare_onednn_matmul(const MatmulProblem& problem, const KernelChoice& choice);

}  // namespace tyto::cpu
