// SPDX-License-Identifier: MIT
// Reads a product's operands, and chooses the kernels that multiply them.
#include "devices/opencl/products/matrix_product.hpp"

#include <array>

#include "core/graph/attributes.hpp"
#include "core/graph/op_ids.hpp"
#include "devices/opencl/products/product_kernels.hpp"
#include "devices/opencl/runtime/families.hpp"
#include "devices/opencl/text/element_types.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

namespace {

using Role = MemoryArgument::Role;

void merge_axes(View& view) {
  if (view.count() == 0) view = View{{0}, {1}, 0};
  core::collapse({&view, 1});
  give_axis(view);
}

View batch_axes_of(const View& view) {
  View out = view;
  for (int i = 0; i < 2; ++i) {
    out.shape.pop_back();
    out.strides.pop_back();
  }
  out.offset = 0;
  return out;
}

View one_axis(const View& view, std::size_t axis) { return {{view.shape[axis]}, {view.strides[axis]}, 0}; }

ProductOperand matrices(const core::Operand& operand, Role role, std::size_t index) {
  const std::size_t rank = operand.view.shape.size();
  return {role,
          index,
          operand.dtype,
          operand.view.offset,
          batch_axes_of(operand.view),
          one_axis(operand.view, rank - 2),
          one_axis(operand.view, rank - 1)};
}

}  // namespace

DType accumulator_of(DType type) { return computed_as(type); }

void simplify(MatrixProduct& product) {
  std::array<View, 3> batch = {product.a.batch, product.b.batch, product.c.batch};
  core::collapse(batch);
  for (View& view : batch) give_axis(view);
  product.a.batch = batch[0], product.b.batch = batch[1], product.c.batch = batch[2];
  for (View* axes : {&product.a.columns, &product.b.rows}) merge_axes(*axes);
  if (product.c.rows.rank() <= 1) {
    merge_axes(product.a.rows);
    return;
  }
  std::array<View, 2> rows = {product.a.rows, product.c.rows};
  if (product.m > 0) core::collapse(rows);
  for (View& view : rows) give_axis(view);
  product.a.rows = rows[0], product.c.rows = rows[1];
}

ProductEpilogue epilogue_of(const core::Step& step) {
  const auto& attributes = std::get<core::ProductAttributes>(*step.attributes);
  ProductEpilogue epilogue;
  const auto column_operand = [&](std::size_t input) {
    const View& view = step.inputs[input].view;
    return ColumnOperand{input, view.offset, view.strides[view.strides.size() - 1]};
  };
  if (attributes.scale) epilogue.scale = column_operand(2);
  if (attributes.bias) epilogue.bias = column_operand(attributes.scale ? 3 : 2);
  if (attributes.residual) {
    epilogue.residual = step.inputs.size() - 1;
    epilogue.residual_offset = step.inputs.back().view.offset;
  }
  epilogue.low = attributes.low;
  epilogue.high = attributes.high;
  epilogue.is_limited = attributes.is_limited();
  return epilogue;
}

MatrixProduct matrix_product(const core::Step& step) {
  MatrixProduct product;
  product.name = core::definition(step.op).name;
  product.a = matrices(step.inputs[0], Role::input, 0);
  product.b = matrices(step.inputs[1], Role::input, 1);
  product.c = matrices(step.outputs[0], Role::output, 0);
  product.m = product.c.rows.count();
  product.n = product.c.columns.count();
  product.k = product.a.columns.count();
  if (step.op == core::OpId::matmul_epilogue) product.epilogue = epilogue_of(step);
  simplify(product);
  return product;
}

bool multiplies_in_groups(const Context& context) {
  return context.style == Style::gpu && context.group >= group_items;
}

void append_product(LaunchPlan& plan, const Context& context, const MatrixProduct& product) {
  if (product.m == 0 || product.n == 0 || product.c.batch.count() == 0) return;
  if (multiplies_in_groups(context)) {
    append_group_kernels(plan, context, product);
    return;
  }
  // Two for each unit, so that one that begins late has less to do; each packs its panels for itself.
  plan.launches.push_back(tile_kernel(product, plan, static_cast<std::int64_t>(context.units) * 2));
}

LaunchPlan matrix_launch_plan(const Context& context, const MatrixProduct& product) {
  LaunchPlan plan;
  plan.name = product.name;
  append_product(plan, context, product);
  return plan;
}

namespace {

void append_matrix_product(LaunchPlan& plan, const Context& context, const core::Step& step) {
  plan = matrix_launch_plan(context, matrix_product(step));
}

}  // namespace

std::span<const OperatorPlan> matrix_plans() {
  static constexpr OperatorPlan plans[] = {{core::OpId::matmul, append_matrix_product},
                                           {core::OpId::matmul_epilogue, append_matrix_product}};
  return plans;
}

}  // namespace tyto::opencl
