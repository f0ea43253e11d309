// SPDX-License-Identifier: MIT
// Products with an epilogue and the packing of their weights as kernels of the device.
//
// Whoever packs and whoever multiplies prepare the same problem, made of the attributes alone, so that they agree on
// the layout: with packed weights everything else is dense.
#include <cstring>

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/device/device.hpp"
#include "devices/cpu/loop/product_kernel.hpp"
#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/products/convolution/convolution.hpp"
#include "devices/cpu/products/step_terms.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;
using core::ProductAttributes;
using core::View;

// One row reads the weights at the speed of memory, however they lie, but for bytes, which are multiplied in fours.
constexpr std::int64_t rows_worth_packing = 2;
// So small a matrix, however it lies, is taken by code for small products or packed in no time.
constexpr std::int64_t few_weights = 512;

const ProductAttributes& attributes_of(const core::Step& step) { return std::get<ProductAttributes>(*step.attributes); }

/// Only bytes have results of another type than their own.
MatmulProblem matmul_problem(const ProductAttributes& product, DType left, DType dtype, const View& a, const View& b,
                             const View& c) {
  const std::size_t rank = c.shape.size();
  MatmulProblem problem;
  problem.dtype = dtype;
  if (dtype != left) problem.bytes = left;
  problem.m = c.shape[rank - 2];
  problem.n = c.shape[rank - 1];
  problem.k = a.shape[rank - 1];
  problem.batch.assign(c.shape.begin(), c.shape.end() - 2);
  problem.a = layout_of(a);
  problem.b = layout_of(b);
  problem.c = layout_of(c);
  problem.packed_b = product.packed;
  problem.bias = product.bias;
  problem.accumulate = product.residual;
  problem.limits = {product.low, product.high};
  return problem;
}

ConvolutionProblem convolution_problem(const ProductAttributes& product, DType left, DType dtype, const Shape& image,
                                       const Shape& kernel, std::int64_t result_pitch = 0) {
  ConvolutionProblem problem;
  problem.dtype = dtype;
  problem.bytes = dtype != left;
  problem.groups = product.window.groups;
  problem.batch = image[0];
  problem.in_channels = image.back();
  problem.out_channels = kernel.back();
  problem.axes = axes_of(product.window, image);
  problem.result_pitch = result_pitch == kernel.back() ? 0 : result_pitch;
  problem.packed_kernel = product.packed;
  problem.scale = product.scale;
  problem.bias = product.bias;
  problem.residual = product.residual;
  problem.limits = {product.low, product.high};
  problem.drops_nan = product.drops_nan;
  return problem;
}

/// Weights of bytes are packed for left operands of u8.
Matmul packed_matmul(const ProductAttributes& product, DType dtype) {
  Shape result = product.left;
  result[result.size() - 1] = product.weights.back();
  ProductAttributes packed = product;
  packed.packed = true;
  const bool bytes = size_of(dtype) == 1;
  return prepare_matmul(matmul_problem(packed, bytes ? DType::u8 : dtype, bytes ? DType::i32 : dtype,
                                       View::dense(product.left), View::dense(product.weights), View::dense(result)));
}

Convolution packed_convolution(const ProductAttributes& product, DType dtype) {
  ProductAttributes packed = product;
  packed.packed = true;
  const bool bytes = size_of(dtype) == 1;
  return prepare_convolution(convolution_problem(packed, bytes ? DType::u8 : dtype, bytes ? DType::i32 : dtype,
                                                 product.left, product.weights));
}

void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
  if (from == to) return;
  run_team(threads_to_copy(static_cast<std::int64_t>(bytes)), [&](Team team) {
    const Range mine = share(static_cast<std::int64_t>(bytes), team.member, team.size, 64);
    if (mine.size() != 0) std::memcpy(to + mine.begin, from + mine.begin, static_cast<std::size_t>(mine.size()));
  });
}

std::vector<std::ptrdiff_t> skips_of(const core::Step& step) {
  std::vector<std::ptrdiff_t> skips;
  for (const core::Operand& operand : step.inputs) skips.push_back(skipped(operand));
  return skips;
}

template <class Product>
void check_packed(const Product& routine, const ProductAttributes& product) {
  if (static_cast<std::int64_t>(routine.packed_bytes()) == product.bytes) return;
  core::throw_error<DeviceError>("cpu: pack_weights: the kernel reads ", routine.packed_bytes(),
                                 " bytes of packed weights, not ", product.bytes);
}

// The residual is added to what the result holds: it is copied there first unless it lies there.
KernelRef prepare_matmul_epilogue(const core::Step& step) {
  if (result_is_empty(step)) return no_work();
  const ProductAttributes& product = attributes_of(step);
  const View& c = step.outputs[0].view;
  const DType dtype = step.outputs[0].dtype;
  const View b = product.packed ? View::dense(product.weights) : step.inputs[1].view;
  const Matmul matmul = prepare_matmul(matmul_problem(product, step.inputs[0].dtype, dtype, step.inputs[0].view, b, c));
  if (product.packed) check_packed(matmul, product);
  const std::size_t bytes = static_cast<std::size_t>(c.count()) * size_of(dtype);
  return make_product_kernel(
      [matmul, bytes, skips = skips_of(step), bias = product.bias, residual = product.residual](
          const ResultLoop* loop, Addresses in, Addresses out, core::Address workspace) {
        MatmulArguments arguments;
        arguments.a = in[0].pointer() + skips[0];
        arguments.b = in[1].pointer() + skips[1];
        arguments.c = out[0].pointer();
        if (bias) arguments.bias = in[2].pointer() + skips[2];
        if (residual) copy_bytes(in.back().pointer() + skips.back(), out[0].pointer(), bytes);
        arguments.workspace = workspace.pointer();
        arguments.loop = loop;
        matmul.run(arguments);
      },
      matmul.workspace_bytes(), matmul.takes_loop(), step.outputs[0]);
}

KernelRef prepare_convolution_epilogue(const core::Step& step) {
  if (result_is_empty(step)) return no_work();
  const ProductAttributes& product = attributes_of(step);
  const Shape& kernel = product.packed ? product.weights : step.inputs[1].view.shape;
  const Convolution convolution =
      prepare_convolution(convolution_problem(product, step.inputs[0].dtype, step.outputs[0].dtype,
                                              step.inputs[0].view.shape, kernel, pixel_pitch(step.outputs[0].view)));
  if (product.packed) check_packed(convolution, product);
  return make_product_kernel(
      [convolution, skips = skips_of(step), result = skipped(step.outputs[0]), scale = product.scale,
       bias = product.bias,
       residual = product.residual](const ResultLoop* loop, Addresses in, Addresses out, core::Address workspace) {
        const auto operand = [&](std::size_t i) { return in[i].pointer() + skips[i]; };
        ConvolutionArguments arguments;
        arguments.input = operand(0);
        arguments.kernel = operand(1);
        if (scale) arguments.scale = operand(2);
        if (bias) arguments.bias = operand(scale ? 3 : 2);
        if (residual) arguments.residual = operand(in.size() - 1);
        arguments.result = out[0].pointer() + result;
        arguments.workspace = workspace.pointer();
        arguments.loop = loop;
        convolution.run(arguments);
      },
      convolution.workspace_bytes(), convolution.takes_loop(), step.outputs[0]);
}

template <class Product>
KernelRef packing_by(const Product& routine, const core::Step& step) {
  check_packed(routine, attributes_of(step));
  return make_kernel([routine, skip = skipped(step.inputs[0])](Addresses in, Addresses out, core::Address) {
    routine.pack(in[0].pointer() + skip, out[0].pointer());
  });
}

KernelRef prepare_packing(const core::Step& step) {
  const ProductAttributes& product = attributes_of(step);
  const DType dtype = step.inputs[0].dtype;
  if (product.window.window.empty()) return packing_by(packed_matmul(product, dtype), step);
  return packing_by(packed_convolution(product, dtype), step);
}

/// A matrix product reads its operands by strides, unless weights were packed for dense ones.
std::uint64_t matmul_wants_dense(const core::Step& step) {
  return attributes_of(step).packed ? ~std::uint64_t{0} : ~std::uint64_t{3};
}

bool convolution_writes(const core::Step& step) {
  return !attributes_of(step).residual && size_of(step.inputs[0].dtype) > 2 && pixel_pitch(step.outputs[0].view) != 0;
}

}  // namespace

std::int64_t packed_bytes(OpId op, const ProductAttributes& product, DType dtype) {
  // Convolutions through f32 copies pack their weights as part of the copying; loops read them as they are.
  const bool bytes = dtype == DType::u8, half = dtype == DType::f16 && op == OpId::matmul_epilogue;
  if (dtype != DType::f32 && dtype != DType::f64 && !bytes && !half) return 0;
  if (element_count(product.left) == 0 || element_count(product.weights) == 0) return 0;
  if (op == OpId::convolution_epilogue) {
    const bool depthwise = product.window.groups > 1 && product.window.groups == product.left.back();
    if (depthwise && !bytes) return 0;
    return static_cast<std::int64_t>(packed_convolution(product, dtype).packed_bytes());
  }
  if (product.weights.size() != 2 || (product.left[0] < rows_worth_packing && !bytes)) return 0;
  // The product with a column is that of a row with the transposed matrix, whose weights are not packed.
  if (element_count(product.weights) <= few_weights || product.weights.back() == 1) return 0;
  const std::int64_t rows = element_count(product.left) / product.left.back();
  if (!bytes && rows <= machine::few_rows && rows * element_count(product.weights) < machine::few_multiply_adds)
    return 0;
  return static_cast<std::int64_t>(packed_matmul(product, dtype).packed_bytes());
}

std::string packed_layout(const ProductAttributes& product, DType dtype) {
  if (product.window.window.empty()) return packed_matmul(product, dtype).packed_layout();
  return packed_convolution(product, dtype).packed_layout();
}

std::span<const KernelEntry> epilogue_kernels() {
  static constexpr KernelEntry entries[] = {
      {OpId::matmul_epilogue, prepare_matmul_epilogue, matmul_wants_dense},
      {OpId::convolution_epilogue, prepare_convolution_epilogue, all_dense, convolution_writes},
      {OpId::pack_weights, prepare_packing, all_dense},
  };
  return entries;
}

}  // namespace tyto::cpu
