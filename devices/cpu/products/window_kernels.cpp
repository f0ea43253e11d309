// SPDX-License-Identifier: MIT
// Convolution, pooling and resizing as kernels of the device: attributes in, prepared routines out.
#include "core/graph/op_ids.hpp"
#include "devices/cpu/loop/product_kernel.hpp"
#include "devices/cpu/products/convolution/convolution.hpp"
#include "devices/cpu/products/pooling/maximum_pick.hpp"
#include "devices/cpu/products/pooling/pooling.hpp"
#include "devices/cpu/products/step_terms.hpp"
#include "devices/cpu/products/upsampling/upsampling.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;

const core::WindowAttributes& window_attributes(const core::Step& step) {
  return std::get<core::WindowAttributes>(*step.attributes);
}

/// The steps' three tensors in a convolution's terms: which operand, or the result, plays which part.
KernelRef prepare_convolution_step(const core::Step& step) {
  if (result_is_empty(step)) return no_work();
  const core::WindowAttributes& attributes = window_attributes(step);
  ConvolutionProblem problem;
  problem.dtype = step.outputs[0].dtype;
  problem.groups = attributes.groups;
  const Shape* image = &step.inputs[0].view.shape;
  const Shape* kernel = &step.inputs[1].view.shape;
  if (step.op == OpId::convolution_input_gradient) {
    problem.pass = ConvolutionPass::backward_input;
    image = &step.outputs[0].view.shape;
  } else if (step.op == OpId::convolution_kernel_gradient) {
    problem.pass = ConvolutionPass::backward_kernel;
    kernel = &step.outputs[0].view.shape;
  }
  problem.batch = (*image)[0];
  problem.in_channels = image->back();
  problem.out_channels = kernel->back();
  problem.axes = axes_of(attributes, *image);
  const std::int64_t pitch = pixel_pitch(step.outputs[0].view);
  if (problem.pass == ConvolutionPass::forward && pitch != problem.out_channels) problem.result_pitch = pitch;
  const Convolution convolution = prepare_convolution(problem);
  const std::ptrdiff_t first = skipped(step.inputs[0]);
  const std::ptrdiff_t second = skipped(step.inputs[1]);
  const std::ptrdiff_t result = skipped(step.outputs[0]);
  return make_product_kernel(
      [convolution, pass = problem.pass, first, second, result](const ResultLoop* loop, Addresses in, Addresses out,
                                                                core::Address workspace) {
        const void* a = in[0].pointer() + first;
        const void* b = in[1].pointer() + second;
        ConvolutionArguments arguments;
        switch (pass) {
          case ConvolutionPass::forward: arguments.input = a, arguments.kernel = b; break;
          case ConvolutionPass::backward_input: arguments.output_gradient = a, arguments.kernel = b; break;
          case ConvolutionPass::backward_kernel: arguments.input = a, arguments.output_gradient = b; break;
        }
        arguments.result = out[0].pointer() + result;
        arguments.workspace = workspace.pointer();
        arguments.loop = loop;
        convolution.run(arguments);
      },
      convolution.workspace_bytes(), convolution.takes_loop(), step.outputs[0]);
}

/// Pixels of a result may lie apart, evenly.
bool pixels_apart(const core::Step& step) {
  return size_of(step.outputs[0].dtype) > 2 && pixel_pitch(step.outputs[0].view) != 0;
}

KernelRef prepare_pooling_step(const core::Step& step) {
  if (result_is_empty(step)) return no_work();
  PoolingProblem problem;
  problem.kind =
      step.op == OpId::max_pool || step.op == OpId::max_pool_gradient ? PoolingKind::maximum : PoolingKind::average;
  problem.backward = step.op == OpId::max_pool_gradient || step.op == OpId::average_pool_gradient;
  problem.dtype = step.outputs[0].dtype;
  const Shape& image = problem.backward ? step.outputs[0].view.shape : step.inputs[0].view.shape;
  problem.batch = image[0];
  problem.channels = image.back();
  problem.axes = axes_of(window_attributes(step), image);
  problem.count_padding = window_attributes(step).count_padding;
  if (problem.kind == PoolingKind::maximum) problem.input_pitch = pixel_pitch(step.inputs[0].view);
  if (!problem.backward) problem.result_pitch = pixel_pitch(step.outputs[0].view);
  const Pooling pooling = prepare_pooling(problem);
  const bool has_input = step.op != OpId::average_pool_gradient;
  const std::size_t gradient = has_input ? 1 : 0;
  const std::ptrdiff_t first = skipped(step.inputs[0]);
  const std::ptrdiff_t last = skipped(step.inputs.back());
  const std::ptrdiff_t result = skipped(step.outputs[0]);
  return make_kernel(
      [pooling, backward = problem.backward, has_input, gradient, first, last, result](Addresses in, Addresses out,
                                                                                       core::Address workspace) {
        PoolingArguments arguments;
        if (has_input) arguments.input = in[0].pointer() + first;
        if (backward) arguments.output_gradient = in[gradient].pointer() + last;
        arguments.result = out[0].pointer() + result;
        arguments.workspace = workspace.pointer();
        pooling.run(arguments);
      },
      pooling.workspace_bytes());
}

/// Pixels of what is read first may lie apart, evenly: beside the channels that they are going to be joined with.
std::uint64_t first_may_lie_apart(const core::Step& step) {
  const bool apart = size_of(step.inputs[0].dtype) > 2 && pixel_pitch(step.inputs[0].view) != 0;
  return apart ? ~std::uint64_t{1} : ~std::uint64_t{0};
}

KernelRef prepare_pick(const core::Step& step) {
  const Shape& image = step.inputs[0].view.shape;
  const MaximumPick pick(step.inputs[0].dtype, image[0], image.back(), axes_of(window_attributes(step), image));
  const std::ptrdiff_t first = skipped(step.inputs[0]);
  const std::ptrdiff_t second = skipped(step.inputs[1]);
  return make_kernel([pick, first, second](Addresses in, Addresses out, core::Address) {
    pick.run(in[0].pointer() + first, in[1].pointer() + second, out[0].pointer());
  });
}

KernelRef prepare_upsampling_step(const core::Step& step) {
  if (result_is_empty(step)) return no_work();
  UpsamplingProblem problem;
  const bool nearest = step.op == OpId::upsample_nearest || step.op == OpId::upsample_nearest_gradient;
  problem.kind = nearest ? UpsamplingKind::nearest : UpsamplingKind::bilinear;
  problem.backward = step.op == OpId::upsample_nearest_gradient || step.op == OpId::upsample_bilinear_gradient;
  problem.dtype = step.outputs[0].dtype;
  const Shape& small = problem.backward ? step.outputs[0].view.shape : step.inputs[0].view.shape;
  const Shape& large = problem.backward ? step.inputs[0].view.shape : step.outputs[0].view.shape;
  problem.batch = small[0];
  problem.channels = small.back();
  problem.in_height = small[1], problem.in_width = small[2];
  problem.out_height = large[1], problem.out_width = large[2];
  problem.source_pitch = pixel_pitch(step.inputs[0].view);
  problem.result_pitch = pixel_pitch(step.outputs[0].view);
  const Upsampling upsampling = prepare_upsampling(problem);
  const std::ptrdiff_t offset = skipped(step.inputs[0]);
  const std::ptrdiff_t result = skipped(step.outputs[0]);
  return make_kernel(
      [upsampling, offset, result](Addresses in, Addresses out, core::Address workspace) {
        UpsamplingArguments arguments;
        arguments.source = in[0].pointer() + offset;
        arguments.result = out[0].pointer() + result;
        arguments.workspace = workspace.pointer();
        upsampling.run(arguments);
      },
      upsampling.workspace_bytes());
}

}  // namespace

std::span<const KernelEntry> window_kernels() {
  static constexpr KernelEntry entries[] = {
      {OpId::convolution, prepare_convolution_step, all_dense, pixels_apart},
      {OpId::convolution_input_gradient, prepare_convolution_step, all_dense},
      {OpId::convolution_kernel_gradient, prepare_convolution_step, all_dense},
      {OpId::max_pool, prepare_pooling_step, first_may_lie_apart, pixels_apart},
      {OpId::max_pool_gradient, prepare_pooling_step, first_may_lie_apart},
      {OpId::max_pool_pick, prepare_pick, all_dense},
      {OpId::average_pool, prepare_pooling_step, all_dense, pixels_apart},
      {OpId::average_pool_gradient, prepare_pooling_step, all_dense},
      {OpId::upsample_nearest, prepare_upsampling_step, first_may_lie_apart, pixels_apart},
      {OpId::upsample_nearest_gradient, prepare_upsampling_step, first_may_lie_apart, pixels_apart},
      {OpId::upsample_bilinear, prepare_upsampling_step, first_may_lie_apart, pixels_apart},
      {OpId::upsample_bilinear_gradient, prepare_upsampling_step, first_may_lie_apart, pixels_apart},
  };
  return entries;
}

}  // namespace tyto::cpu
