// What a team does for each operator, in the functions of mathematics_systems.cpp.
#include <algorithm>
#include <iterator>

#include "core/attributes.hpp"
#include "core/op_ids.hpp"
#include "devices/opencl/linear_algebra.hpp"
#include "devices/opencl/matrix_kernel.hpp"

namespace tyto::opencl {

namespace {

using core::OpId;

/// Matrices of the first operand as `a`, rows x columns; and lines of as many elements as rows and columns.
MatrixKernel kernel_for(const Context& context, const core::Step& step, const MatrixStack& a, std::int64_t width = 0) {
  MatrixKernel kernel(context, step, a.count, std::max({a.rows, a.columns, width}));
  kernel.length("rows", a.rows);
  kernel.length("columns", a.columns);
  kernel.input(0, "a", a.rows * a.columns);
  return kernel;
}

LaunchPlan plan_lu_factor(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]);
  MatrixKernel kernel = kernel_for(context, step, a);
  kernel.output(0, "lu", a.rows * a.columns);
  kernel.output(1, "pivots", std::min(a.rows, a.columns));
  kernel.output(2, "order", a.rows);
  kernel.run(R"CLC(
    copy_matrix@(a, lu, (long)rows * columns, TEAM);
    factorise_lu@(lu, rows, columns, pivots, shared, places, TEAM);
    order_of_pivots(pivots, min(rows, columns), order, rows, member);
)CLC");
  return kernel.finish();
}

LaunchPlan plan_lu_solve(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]), b = matrix_stack(step.inputs[2]);
  MatrixKernel kernel = kernel_for(context, step, a, b.columns);
  kernel.input(1, "order", a.rows);
  kernel.input(2, "b", b.rows * b.columns);
  kernel.output(0, "x", b.rows * b.columns);
  kernel.length("width", b.columns);
  kernel.room("seen", "uchar", 1, a.rows);
  kernel.run(R"CLC(
    const int sound = is_permutation(order, rows, seen, TEAM), moved = sound ? rows : 0;
)CLC");
  if (!std::get<core::AxisAttributes>(*step.attributes).flag) {
    kernel.run(R"CLC(
    permute_rows@(b, order, x, moved, width, 0, TEAM);
    solve_factors@(a, moved, x, width, TEAM);
)CLC");
  } else {
    kernel.room("turned", b.rows * b.columns);
    kernel.run(R"CLC(
    copy_matrix@(b, turned, (long)rows * width, TEAM);
    solve_triangle@(a, 1, rows, rows, 0, 0, turned, width, TEAM);
    solve_triangle@(a, 1, rows, rows, 1, 1, turned, width, TEAM);
    permute_rows@(turned, order, x, moved, width, 1, TEAM);
)CLC");
  }
  kernel.run(R"CLC(
    fill_matrix@(x, sound ? 0 : (long)rows * width, NAN, TEAM);
)CLC");
  return kernel.finish();
}

LaunchPlan plan_solve(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]), b = matrix_stack(step.inputs[1]);
  MatrixKernel kernel = kernel_for(context, step, a, b.columns);
  kernel.input(1, "b", b.rows * b.columns);
  kernel.output(0, "x", b.rows * b.columns);
  kernel.output(1, "lu", a.rows * a.columns);
  kernel.output(2, "order", a.rows);
  kernel.output(3, "info", 1);
  kernel.length("width", b.columns);
  kernel.room("pivots", "long", 8, a.rows);
  kernel.run(R"CLC(
    copy_matrix@(a, lu, (long)rows * columns, TEAM);
    const long zero = factorise_lu@(lu, rows, columns, pivots, shared, places, TEAM);
    order_of_pivots(pivots, rows, order, rows, member);
    if (member == 0) info[0] = zero;
    permute_rows@(b, order, x, rows, width, 0, TEAM);
    solve_factors@(lu, rows, x, width, TEAM);
    fill_matrix@(x, zero == 0 ? 0 : (long)rows * width, NAN, TEAM);
)CLC");
  return kernel.finish();
}

LaunchPlan plan_inv(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]);
  MatrixKernel kernel = kernel_for(context, step, a);
  kernel.output(0, "x", a.rows * a.columns);
  kernel.output(1, "info", 1);
  kernel.room("lu", a.rows * a.columns);
  kernel.room("unit", a.rows * a.columns);
  kernel.room("pivots", "long", 8, a.rows);
  kernel.room("order", "long", 8, a.rows);
  kernel.run(R"CLC(
    copy_matrix@(a, lu, (long)rows * columns, TEAM);
    const long zero = factorise_lu@(lu, rows, columns, pivots, shared, places, TEAM);
    order_of_pivots(pivots, rows, order, rows, member);
    if (member == 0) info[0] = zero;
    set_identity@(unit, rows, columns, TEAM);
    permute_rows@(unit, order, x, rows, columns, 0, TEAM);
    solve_factors@(lu, rows, x, columns, TEAM);
    fill_matrix@(x, zero == 0 ? 0 : (long)rows * columns, NAN, TEAM);
)CLC");
  return kernel.finish();
}

LaunchPlan plan_det(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]);
  MatrixKernel kernel = kernel_for(context, step, a);
  kernel.output(0, "determinant", 1);
  kernel.output(1, "lu", a.rows * a.columns);
  kernel.output(2, "pivots", a.rows);
  kernel.output(3, "order", a.rows);
  kernel.run(R"CLC(
    copy_matrix@(a, lu, (long)rows * columns, TEAM);
    factorise_lu@(lu, rows, columns, pivots, shared, places, TEAM);
    order_of_pivots(pivots, rows, order, rows, member);
    if (member == 0) {
      ELEMENT product = of_real@(1);
      for (int i = 0; i < rows; ++i) {
        const ELEMENT pivot = lu[(long)i * columns + i];
        product = times@(product, pivots[i] == i ? pivot : -pivot);
      }
      determinant[0] = product;
    }
)CLC");
  return kernel.finish();
}

LaunchPlan plan_cholesky(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]);
  MatrixKernel kernel = kernel_for(context, step, a);
  kernel.output(0, "factor", a.rows * a.columns);
  kernel.output(1, "info", 1);
  kernel.run(R"CLC(
    copy_matrix@(a, factor, (long)rows * columns, TEAM);
    const long bad = factorise_cholesky@(factor, rows, TEAM);
    if (member == 0) info[0] = bad;
    for (long i = member; i < (long)rows * columns; i += members) {
      if (bad != 0) factor[i] = (REAL)NAN;
      else if (i % columns > i / columns) factor[i] = 0;
    }
)CLC");
  return kernel.finish();
}

LaunchPlan plan_triangular_solve(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]), b = matrix_stack(step.inputs[1]);
  const auto& attributes = std::get<core::AxisAttributes>(*step.attributes);
  MatrixKernel kernel = kernel_for(context, step, a, b.columns);
  kernel.input(1, "b", b.rows * b.columns);
  kernel.output(0, "x", b.rows * b.columns);
  kernel.length("width", b.columns);
  kernel.length("upper", attributes.flag ? 1 : 0);
  kernel.length("unit", attributes.reverse ? 1 : 0);
  kernel.run(R"CLC(
    copy_matrix@(b, x, (long)rows * width, TEAM);
    solve_triangle@(a, columns, 1, rows, upper, unit, x, width, TEAM);
)CLC");
  return kernel.finish();
}

struct System {
  OpId op;
  LaunchPlan (*plan)(const Context& context, const core::Step& step);
};

constexpr System systems[] = {{OpId::lu_factor, plan_lu_factor},
                              {OpId::lu_solve, plan_lu_solve},
                              {OpId::solve, plan_solve},
                              {OpId::inv, plan_inv},
                              {OpId::det, plan_det},
                              {OpId::cholesky, plan_cholesky},
                              {OpId::triangular_solve, plan_triangular_solve}};

const System* system_of(OpId op) {
  const System* const found = std::ranges::find(systems, op, &System::op);
  return found == std::end(systems) ? nullptr : found;
}

}  // namespace

bool is_linear_system(OpId op) { return system_of(op) != nullptr; }

LaunchPlan linear_system_launch_plan(const Context& context, const core::Step& step) {
  if (matrix_stack(step.inputs[0]).count == 0) return {std::string(core::definition(step.op).name), {}, 0};
  return system_of(step.op)->plan(context, step);
}

}  // namespace tyto::opencl
