// SPDX-License-Identifier: MIT
// The matrix product as a kernel of the device: views in, strides of the prepared product out.
#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/loop/product_kernel.hpp"
#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/products/step_terms.hpp"

namespace tyto::cpu {

namespace {

MatmulProblem problem_of(const core::Step& step) {
  const core::View& c = step.outputs[0].view;
  const std::size_t rank = c.shape.size();
  MatmulProblem problem;
  problem.dtype = step.outputs[0].dtype;
  problem.m = c.shape[rank - 2];
  problem.n = c.shape[rank - 1];
  problem.k = step.inputs[0].view.shape[rank - 1];
  problem.batch.assign(c.shape.begin(), c.shape.end() - 2);
  problem.a = layout_of(step.inputs[0].view);
  problem.b = layout_of(step.inputs[1].view);
  problem.c = layout_of(c);
  return problem;
}

KernelRef prepare(const core::Step& step) {
  if (result_is_empty(step)) return no_work();
  const MatmulProblem asked = problem_of(step), dense = with_dense_result(asked);
  // A result has the same bits wherever it lies: those that it has in eager mode, which is densely.
  const bool is_apart = !core::is_dense(step.outputs[0].view) && !adds_as_if_dense(asked);
  const Matmul matmul = prepare_matmul(is_apart ? dense : asked);
  const std::ptrdiff_t a = skipped(step.inputs[0]);
  const std::ptrdiff_t b = skipped(step.inputs[1]);
  const std::ptrdiff_t result = skipped(step.outputs[0]);
  StridedCopy copy;
  if (is_apart)
    copy = StridedCopy(core::View::dense(step.outputs[0].view.shape), step.outputs[0].view, size_of(asked.dtype));
  WorkspaceLayout space;
  const std::size_t there = space.reserve(static_cast<std::size_t>(copy.bytes()));
  const std::size_t inner = space.reserve(matmul.workspace_bytes());
  return make_product_kernel(
      [matmul, a, b, result, inner, is_apart, copy, there](const ResultLoop* loop, Addresses in, Addresses out,
                                                           core::Address workspace) {
        MatmulArguments arguments;
        arguments.a = in[0].pointer() + a;
        arguments.b = in[1].pointer() + b;
        auto* const apart = at<std::byte>(workspace.pointer(), there);
        arguments.c = is_apart ? apart : out[0].pointer() + result;
        arguments.workspace = at<std::byte>(workspace.pointer(), inner);
        arguments.loop = loop;
        matmul.run(arguments);
        if (!is_apart) return;
        run_team(threads_to_copy(copy.bytes()),
                 [&](Team team) { copy.run(apart, out[0].pointer(), share(copy.units(), team.member, team.size)); });
      },
      space.bytes(), !is_apart && matmul.takes_loop(), step.outputs[0]);
}

/// Rows of the result may lie apart, but each must be a run.
bool writes_strided(const core::Step& step) {
  const core::View& c = step.outputs[0].view;
  const std::size_t rank = c.shape.size();
  return c.strides[rank - 1] == 1 && c.strides[rank - 2] >= c.shape[rank - 1];
}

}  // namespace

std::span<const KernelEntry> matmul_kernels() {
  static constexpr KernelEntry entries[] = {{core::OpId::matmul, prepare, nullptr, writes_strided}};
  return entries;
}

}  // namespace tyto::cpu
