// SPDX-License-Identifier: MIT
// Kernels over stacks of matrices: distribute matrices over threads and give each thread its workspace.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "core/device/device.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/linalg/matrix.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu::linalg {

/// Matrices that lie one after another, the last two axes of a dense operand.
struct Stack {
  std::int64_t offset = 0;
  std::int64_t count = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  template <class T>
  Matrix<T> at(const core::Address& address, std::int64_t index) const noexcept {
    return dense(reinterpret_cast<T*>(address.pointer()) + offset + index * rows * columns, rows, columns);
  }
};

inline Stack stack_of(const core::Operand& operand) {
  const Shape& shape = operand.view.shape;
  const std::size_t rank = shape.size();
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) count *= shape[axis];
  return {operand.view.offset, count, shape[rank - 2], shape[rank - 1]};
}

/// The numbers that belong to matrix `index`, `length` for each: vectors in the last axis, or one number a matrix.
template <class T>
T* numbers(const core::Address& address, std::int64_t index, std::int64_t length = 1) noexcept {
  return reinterpret_cast<T*>(address.pointer()) + index * length;
}

template <class T>
void copy_matrix(const Matrix<const std::type_identity_t<T>>& from, const Matrix<T>& to) noexcept {
  for (std::int64_t row = 0; row < to.rows; ++row) {
    for (std::int64_t column = 0; column < to.columns; ++column) to(row, column) = from(row, column);
  }
}

/// Fills a result that cannot be computed with NaN.
template <class T>
void fill_with_nan(const Matrix<T>& to) noexcept {
  for (std::int64_t row = 0; row < to.rows; ++row) {
    for (std::int64_t column = 0; column < to.columns; ++column) {
      to(row, column) = std::numeric_limits<T>::quiet_NaN();
    }
  }
}

/// Operations and workspace of one matrix.
struct WorkEstimate {
  double operations = 0;
  std::int64_t widest = 0;     ///< columns of the widest product
  std::int64_t workspace = 0;  ///< elements of workspace
  std::int64_t indices = 0;    ///< integers of workspace
};

/// The kernel context and workspace of a thread for one matrix.
template <class T>
struct ThreadWorkspace {
  KernelContext<T> context;
  T* workspace = nullptr;
  std::int64_t* indices = nullptr;
};

/// A kernel that calls work(inputs, outputs, index, mine) for each matrix. Matrices are shared out among the threads;
/// where there are fewer of them than threads, each in its turn has all threads for its products. The work must not
/// throw.
template <class T, class Work>
KernelRef for_each_matrix(std::int64_t count, const WorkEstimate& estimate, Work work) {
  const int wanted = threads_for(static_cast<double>(count) * estimate.operations / machine::vector_operations);
  const bool by_matrix = count >= wanted;
  const int team_size = by_matrix ? wanted : 1;
  KernelContext<T> context;
  context.loops = &vector_loops<T>(instruction_set());
  context.tiles = &tiles<T>(instruction_set());
  context.threads = by_matrix ? 1 : wanted;

  WorkspaceLayout layout;
  std::size_t packed_step = 0, number_step = 0, index_step = 0;
  const auto members = static_cast<std::size_t>(team_size);
  const std::size_t packed =
      layout.reserve_each(members, packed_bytes<T>(*context.tiles, estimate.widest), packed_step);
  const std::size_t numbers_at =
      layout.reserve_each(members, static_cast<std::size_t>(estimate.workspace) * sizeof(T), number_step);
  const std::size_t indices =
      layout.reserve_each(members, static_cast<std::size_t>(estimate.indices) * sizeof(std::int64_t), index_step);
  const auto run = [=](Addresses inputs, Addresses outputs, core::Address workspace) {
    run_team(team_size, [&](Team team) {
      const auto member = static_cast<std::size_t>(team.member);
      ThreadWorkspace<T> mine{context, at<T>(workspace.pointer(), numbers_at + member * number_step),
                              at<std::int64_t>(workspace.pointer(), indices + member * index_step)};
      mine.context.packed = at<T>(workspace.pointer(), packed + member * packed_step);
      const Range matrices = share(count, team.member, team.size);
      for (std::int64_t index = matrices.begin; index < matrices.end; ++index) work(inputs, outputs, index, mine);
    });
  };
  return make_kernel(run, layout.bytes());
}

/// Calls f(std::type_identity<T>{}) with the type of the first operand, which the shape rules hold to be f32 or f64.
template <class F>
KernelRef with_real(const core::Step& step, const F& f) {
  if (step.inputs[0].dtype == DType::f64) return f(std::type_identity<double>{});
  return f(std::type_identity<float>{});
}

/// Whether there is no matrix at all.
inline bool no_matrices(const Stack& stack) { return stack.count == 0; }

}  // namespace tyto::cpu::linalg
