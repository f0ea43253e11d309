// SPDX-License-Identifier: MIT
// Half-precision products whose epilogue (bias, residual, limits) runs after the product, row by row.
#include <algorithm>
#include <utility>

#include "devices/cpu/arithmetic/half_precision.hpp"
#include "devices/cpu/products/half_epilogues.hpp"
#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

constexpr std::int64_t tile = 256;

class EpilogueMatmul final : public MatmulRoutine {
 public:
  EpilogueMatmul(const MatmulProblem& problem, const KernelChoice& choice, std::unique_ptr<MatmulRoutine> product)
      : problem_(problem),
        threads_(matmul_threads(problem, choice, machine::bf16_operations)),
        product_(std::move(product)) {
    const std::int64_t rows = batch_count(problem) * problem.m;
    const std::int64_t sums = problem.accumulate ? rows * problem.n : 0;
    sums_ = space_.reserve(static_cast<std::size_t>(sums) * sizeof(std::uint16_t));
    inner_ = space_.reserve(product_->workspace());
    packed_space_ = product_->packed();
  }

  bool order_depends_on_strides() const noexcept override { return product_->order_depends_on_strides(); }
  const char* name() const noexcept override { return product_->name(); }

  void run(const MatmulArguments& arguments) const override {
    auto* const c = static_cast<std::uint16_t*>(arguments.c);
    const auto* const bias = static_cast<const std::uint16_t*>(arguments.bias);
    auto* const sums = problem_.accumulate ? at<std::uint16_t>(arguments.workspace, sums_) : c;
    product_->run({arguments.a, arguments.b, sums, nullptr, at<std::byte>(arguments.workspace, inner_)});
    const std::int64_t stride = problem_.c.column_stride, sums_stride = problem_.accumulate ? 1 : stride;
    run_team(threads_, [&](Team team) {
      const Range mine = share(batch_count(problem_) * problem_.m, team.member, team.size);
      for (std::int64_t row = mine.begin; row < mine.end; ++row) {
        std::uint16_t* const out =
            c + batch_offsets(problem_, row / problem_.m).c + row % problem_.m * problem_.c.row_stride;
        const std::uint16_t* const from = problem_.accumulate ? sums + row * problem_.n : out;
        for (std::int64_t first = 0; first < problem_.n; first += tile) {
          const std::int64_t count = std::min(tile, problem_.n - first);
          float wide[tile];
          widen(problem_.dtype, from + first * sums_stride, sums_stride, wide, count);
          std::uint16_t* const to = out + first * stride;
          const HalfEpilogue epilogue{problem_.dtype, problem_.bias ? bias + first : nullptr,
                                      problem_.accumulate ? to : nullptr, problem_.limits.as<float>()};
          apply_half_epilogue(epilogue, wide, to, stride, 1, count);
        }
      }
    });
  }

 private:
  MatmulProblem problem_;
  int threads_;
  std::unique_ptr<MatmulRoutine> product_;
  std::size_t sums_ = 0, inner_ = 0;
};

}  // namespace

MatmulProblem without_epilogue(const MatmulProblem& problem) {
  MatmulProblem plain = problem;
  plain.bias = plain.accumulate = false;
  plain.limits = {};
  return problem.accumulate ? with_dense_result(std::move(plain)) : plain;
}

std::unique_ptr<MatmulRoutine> add_half_epilogue(const MatmulProblem& problem, const KernelChoice& choice,
                                                 std::unique_ptr<MatmulRoutine> product) {
  if (!problem.bias && !problem.accumulate && !problem.limits.any()) return product;
  return std::make_unique<EpilogueMatmul>(problem, choice, std::move(product));
}

}  // namespace tyto::cpu
