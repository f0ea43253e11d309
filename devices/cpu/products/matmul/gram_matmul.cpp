// SPDX-License-Identifier: MIT
// The lower triangle of a symmetric product by blocks of rows, and the upper one as its mirror image.
#include "devices/cpu/products/matmul/gram_matmul.hpp"

#include <algorithm>

#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

/// Blocks of fewer rows would be slow products; with more than eight little is left to save.
constexpr std::int64_t least_block = 96, most_blocks = 8;

/// Sides of the squares that are mirrored at a time, so that both lie in the first cache.
constexpr std::int64_t mirrored_side = 32;

template <class E>
void mirror(E* c, std::int64_t pitch, std::int64_t count, Range squares) {
  for (std::int64_t square = squares.begin; square < squares.end; ++square) {
    const std::int64_t first = square * mirrored_side, last = std::min(first + mirrored_side, count);
    for (std::int64_t from = 0; from < last; from += mirrored_side) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t end = std::min(from + mirrored_side, i);
        for (std::int64_t j = from; j < end; ++j) c[j * pitch + i] = c[i * pitch + j];
      }
    }
  }
}

}  // namespace

std::optional<GramMatmul> prepare_gram_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  const MatrixLayout &a = problem.a, &b = problem.b;
  const bool is_symmetric = problem.m == problem.n && a.row_stride == b.column_stride &&
                            a.column_stride == b.row_stride && problem.batch.empty() && !problem.packed_b &&
                            !problem.bias && !problem.accumulate;
  if (!is_symmetric || !is_floating(problem.dtype) || problem.c.column_stride != 1) return {};
  if (problem.m < 2 * least_block || problem.k < least_block) return {};
  GramMatmul gram;
  gram.problem_ = problem;
  constexpr std::int64_t unit = 16;
  gram.block_ = std::max((problem.m + most_blocks - 1) / most_blocks, least_block);
  gram.block_ = (gram.block_ + unit - 1) / unit * unit;
  for (std::int64_t first = 0; first < problem.m; first += gram.block_) {
    MatmulProblem part = problem;
    part.m = std::min(gram.block_, problem.m - first);
    part.n = first + part.m;
    gram.products_.push_back(prepare_matmul(part, choice));
  }
  const auto mirrored = static_cast<double>(problem.m * problem.m) / 2;
  gram.threads_ = choice.threads > 0 ? choice.threads : threads_for(mirrored);
  return gram;
}

std::size_t GramMatmul::workspace_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Matmul& product : products_) bytes = std::max(bytes, product.workspace_bytes());
  return bytes;
}

void GramMatmul::run(const MatmulArguments& arguments) const {
  const auto size = static_cast<std::int64_t>(size_of(problem_.dtype));
  for (std::size_t i = 0; i < products_.size(); ++i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * block_;
    MatmulArguments part = arguments;
    part.a = static_cast<const std::byte*>(arguments.a) + first * problem_.a.row_stride * size;
    part.c = static_cast<std::byte*>(arguments.c) + first * problem_.c.row_stride * size;
    products_[i].run(part);
  }
  with_width(problem_.dtype, [&]<class E>(std::type_identity<E>) {
    const std::int64_t squares = (problem_.m + mirrored_side - 1) / mirrored_side;
    run_team(threads_, [&](Team team) {
      // Later squares are longer: dealt out one by one.
      for (std::int64_t square = team.member; square < squares; square += team.size) {
        mirror(static_cast<E*>(arguments.c), problem_.c.row_stride, problem_.m, {square, square + 1});
      }
    });
  });
}

}  // namespace tyto::cpu
