// Panels of one group after the other: [groups][panels][rows of weights][width of a panel], zeros beyond the last
// column.
#include "devices/opencl/packed_weights.hpp"

#include "core/op_ids.hpp"
#include "core/text.hpp"
#include "devices/opencl/coordinate_loop.hpp"
#include "devices/opencl/element_types.hpp"
#include "devices/opencl/kernel_text.hpp"
#include "devices/opencl/product_kernels.hpp"
#include "tyto/error.hpp"

namespace tyto::opencl {

namespace {

using core::OpId;
using core::text;
using core::View;
using Role = MemoryArgument::Role;

struct Panels {
  std::int64_t groups, rows, columns;  // of weights; columns of a group
  std::int64_t width, count;           // of panels; how many a group has

  Panels(const core::ProductAttributes& product, DType dtype)
      : groups(product.window.window.empty() ? 1 : product.window.groups),
        rows(element_count(product.weights) / product.weights.back()),
        columns(product.weights.back() / groups),
        width(panel_width(columns, dtype)),
        count(divided_up(columns, width)) {}

  std::int64_t elements() const { return groups * count * rows * width; }
};

}  // namespace

std::int64_t packed_bytes(const Context& context, OpId op, const core::ProductAttributes& product, DType dtype) {
  // Of other types panels hold numbers of another width, which are converted as they are copied.
  if (context.style != Style::cpu || (dtype != DType::f32 && dtype != DType::f64)) return 0;
  if (dtype == DType::f64 && !context.has_f64) return 0;
  if (element_count(product.left) == 0 || element_count(product.weights) == 0) return 0;
  if (op == OpId::matmul_epilogue && product.weights.size() != 2) return 0;
  const Panels panels(product, dtype);
  // Few columns of a group leave most of a panel empty, and one panel is read as it lies.
  const bool is_panel = panels.groups == 1 && panels.columns == panels.width;
  if (2 * panels.columns <= panels.width || is_panel) return 0;
  return panels.elements() * static_cast<std::int64_t>(size_of(dtype));
}

bool is_packing(OpId op) { return op == OpId::pack_weights; }

LaunchPlan packing_launch_plan(const Context& context, const core::Step& step) {
  const auto& product = std::get<core::ProductAttributes>(*step.attributes);
  const core::Operand& weights = step.inputs[0];
  const Panels panels(product, weights.dtype);
  const std::int64_t bytes = panels.elements() * static_cast<std::int64_t>(size_of(weights.dtype));
  if (bytes != product.bytes) {
    throw DeviceError(text(context.name, ": pack_weights: the kernel reads ", bytes, " bytes of packed weights, not ",
                           product.bytes));
  }
  const std::size_t last = weights.view.shape.size() - 1;
  Shape shape{panels.groups, panels.count};
  for (std::size_t axis = 0; axis < last; ++axis) shape.push_back(weights.view.shape[axis]);
  shape.push_back(panels.width);
  KernelText kernel(false);
  const CoordinateLoop loop(context, shape);
  kernel.memory(Role::input, 0, weights, "in");
  kernel.memory(Role::output, 0, storage_name(weights.dtype), size_of(weights.dtype), 0, "out");
  kernel.number("columns", panels.columns);
  kernel.number("width", panels.width);
  const StridedMemory memory("in", weights.view);
  memory.declare(kernel);
  std::vector<std::string> place;
  for (std::size_t axis = 0; axis < last; ++axis) place.push_back(loop.coordinate(static_cast<std::int64_t>(axis) + 2));
  place.push_back("column + c0 * columns");
  loop.open(kernel);
  kernel.line(text("    const long column = c1 * width + ", loop.coordinate(static_cast<std::int64_t>(last) + 2), ";"));
  kernel.line(text("    out[", CoordinateLoop::number, "] = column < columns ? in[", memory.place(place), "] : 0;"));
  LaunchPlan plan;
  plan.name = core::definition(step.op).name;
  plan.launches.push_back(loop.close(kernel));
  return plan;
}

ProductOperand packed_operand(const core::ProductAttributes& product, DType dtype) {
  const Panels panels(product, dtype);
  return {Role::input,
          1,
          dtype,
          0,
          View{{panels.groups}, {panels.count * panels.rows * panels.width}, 0},
          View{{panels.rows}, {panels.width}, 0},
          View{{panels.columns}, {1}, 0}};
}

}  // namespace tyto::opencl
