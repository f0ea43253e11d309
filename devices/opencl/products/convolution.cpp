// SPDX-License-Identifier: MIT
// Patches are read where the image lies, as a matrix whose rows and columns run along several axes. Where windows reach
// beyond the image, it is laid out with zeros around it.
#include "devices/opencl/runtime/families.hpp"

#include <algorithm>
#include <numeric>

#include "core/graph/attributes.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/products/matrix_product.hpp"
#include "devices/opencl/products/product_kernels.hpp"
#include "devices/opencl/text/coordinate_loop.hpp"
#include "devices/opencl/text/kernel_text.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

namespace {

using core::WindowAttributes;
using Role = MemoryArgument::Role;

// Parts that the sums over all positions are cut into depend on shapes alone, so that results do not depend on the
// device's size.
constexpr std::int64_t most_image_parts = 16;

/// The windows along one spatial axis. Element c of the axis as windows see it is element c + shift of the image, where
/// there is one, else zero.
struct WindowAxis {
  std::int64_t positions, step, taps, dilation, shift;

  std::int64_t extent() const { return (positions - 1) * step + (taps - 1) * dilation + 1; }
  bool lies_within(std::int64_t length) const { return shift >= 0 && shift + extent() <= length; }
};

struct Convolution {
  const core::Operand& image;  // what patches are taken of
  std::int64_t groups;
  std::vector<WindowAxis> axes;  // spatial ones
};

const WindowAttributes& window_of(const core::Step& step) {
  if (const auto* product = std::get_if<core::ProductAttributes>(step.attributes)) return product->window;
  return std::get<WindowAttributes>(*step.attributes);
}

/// The windows of a forward convolution, over whose positions the gradient by the kernel adds up too.
Convolution over_input(const core::Step& step, const Shape& result) {
  const WindowAttributes& window = window_of(step);
  Convolution c{step.inputs[0], window.groups, {}};
  for (std::size_t i = 0; i + 2 < result.size(); ++i) {
    c.axes.push_back({result[i + 1], window.stride[i], window.window[i], window.dilation[i], -window.before[i]});
  }
  return c;
}

/// Copies the image to the workspace, with zeros where it has no elements.
KernelLaunch layout_kernel(const Context& context, const Convolution& c, const View& laid_out, std::size_t at) {
  const DType type = c.image.dtype, stored = accumulator_of(type);
  const std::size_t axes = c.axes.size();
  const std::vector<View> views = {c.image.view, laid_out};
  KernelText kernel(fits_int(views));
  const CoordinateLoop loop(context, laid_out.shape);
  kernel.memory(Role::input, 0, c.image, "in");
  kernel.memory(Role::workspace, 0, storage_name(stored), size_of(stored),
                static_cast<std::int64_t>(at / size_of(stored)), "out");
  const StridedMemory memory("in", c.image.view);
  memory.declare(kernel);
  std::vector<std::string> place = {loop.coordinate(0)};
  for (std::size_t i = 0; i < axes; ++i) {
    kernel.number(text("shift", i), c.axes[i].shift);
    kernel.number(text("length", i), c.image.view.shape[i + 1]);
    place.push_back(text("p", i));
  }
  place.push_back(loop.coordinate(static_cast<std::int64_t>(axes) + 1));
  loop.open(kernel);
  kernel.line("    int inside = 1;");
  for (std::size_t i = 0; i < axes; ++i) {
    const std::string p = text("p", i);
    kernel.line(text("    const ", kernel.index(), " ", p, " = ", loop.coordinate(static_cast<std::int64_t>(i) + 1),
                     " + shift", i, "; inside &= ", p, " >= 0 && ", p, " < length", i, ";"));
  }
  kernel.line(text("    ", type_name(compute_of(type)), " value = 0;"));
  kernel.line(text("    if (inside) value = ", load(type, "in", memory.place(place)), ";"));
  kernel.line(text("    ", store(stored, "out", CoordinateLoop::number, "value")));
  return loop.close(kernel);
}

/// The image as patches are read from it: where it lies, or laid out in the workspace first.
ProductOperand patches_of(LaunchPlan& plan, const Context& context, const Convolution& c) {
  ProductOperand image{Role::input, 0, c.image.dtype, c.image.view.offset, {}, {}, {}};
  View view = c.image.view;
  const std::size_t axes = c.axes.size();
  const std::int64_t channels = view.shape.back() / c.groups;
  image.batch = View{{c.groups}, {channels * view.strides.back()}, 0};
  bool within = true, empty = view.count() == 0;
  for (std::size_t i = 0; i < axes; ++i) {
    within = within && c.axes[i].lies_within(view.shape[i + 1]);
    empty = empty || c.axes[i].taps == 0 || c.axes[i].positions == 0;
  }
  if (within) {
    for (std::size_t i = 0; i < axes; ++i) image.offset += c.axes[i].shift * view.strides[i + 1];
  } else if (!empty) {
    Shape shape = view.shape;
    for (std::size_t i = 0; i < axes; ++i) shape[i + 1] = c.axes[i].extent();
    view = View::dense(shape);
    image.role = Role::workspace;
    image.dtype = accumulator_of(c.image.dtype);
    const std::size_t size = size_of(image.dtype);
    const std::size_t at = plan.reserve(static_cast<std::size_t>(view.count()) * size);
    plan.launches.push_back(layout_kernel(context, c, view, at));
    image.offset = static_cast<std::int64_t>(at / size);
    image.batch.strides[0] = channels;
  }
  // Rows are positions, columns what a window covers of a group's channels.
  image.rows = View{{view.shape[0]}, {view.strides[0]}, 0};
  image.columns = View{{}, {}, 0};
  for (std::size_t i = 0; i < axes; ++i) {
    image.rows.shape.push_back(c.axes[i].positions);
    image.rows.strides.push_back(c.axes[i].step * view.strides[i + 1]);
    image.columns.shape.push_back(c.axes[i].taps);
    image.columns.strides.push_back(c.axes[i].dilation * view.strides[i + 1]);
  }
  image.columns.shape.push_back(channels);
  image.columns.strides.push_back(view.strides[axes + 1]);
  return image;
}

/// A part of the last axis for each group.
ProductOperand by_group(Role role, std::size_t index, const core::Operand& operand, std::int64_t groups) {
  const std::size_t last = operand.view.shape.size() - 1;
  const std::int64_t width = operand.view.shape[last] / groups, stride = operand.view.strides[last];
  ProductOperand out{role, index, operand.dtype, operand.view.offset, {}, {}, {}};
  out.batch = View{{groups}, {width * stride}, 0};
  out.rows = axes_between(operand.view, 0, last);
  out.columns = View{{width}, {stride}, 0};
  return out;
}

/// A dense result has rows at one stride.
void merge_rows(ProductOperand& result) {
  result.rows = View{{result.rows.count()}, {result.batch.shape[0] * result.columns.shape[0]}, 0};
}

MatrixProduct product_of(const core::Step& step, ProductOperand a, ProductOperand b, ProductOperand c) {
  MatrixProduct product{core::definition(step.op).name,
                        c.rows.count(),
                        c.columns.count(),
                        a.columns.count(),
                        std::move(a),
                        std::move(b),
                        std::move(c),
                        {}};
  if (step.op == OpId::convolution_epilogue) {
    product.epilogue = epilogue_of(step);
    for (std::optional<ColumnOperand>* each : {&product.epilogue->scale, &product.epilogue->bias}) {
      if (*each) (*each)->batch_stride = product.n * (*each)->stride;
    }
  }
  simplify(product);
  return product;
}

// positions x patch times patch x channels.
void plan_forward(LaunchPlan& plan, const Context& context, const core::Step& step) {
  const core::Operand& result = step.outputs[0];
  const Convolution convolution = over_input(step, result.view.shape);
  const std::int64_t groups = convolution.groups;
  ProductOperand patches = patches_of(plan, context, convolution);
  ProductOperand out = by_group(Role::output, 0, result, groups);
  merge_rows(out);
  ProductOperand weights = by_group(Role::input, 1, step.inputs[1], groups);
  append_product(plan, context, product_of(step, std::move(patches), std::move(weights), std::move(out)));
}

/// Positions of the input `step` apart along an axis, which see the same taps, a number of such runs side by side.
struct Phase {
  std::int64_t first, runs;            // positions at which runs begin, one behind the other
  std::int64_t first_tap, tap_stride;  // of the first run; that of the next is one further on
  WindowAxis windows;                  // over the result's gradient
};

// Position p sees tap t of the window at o where p = o * stride + t * dilation - before. Of positions a stride apart,
// p = first + j * stride, neighbours see the same taps, at neighbouring windows: taps are t = first_tap + u * every,
// and o = j + near - u * apart. With the taps mirrored, that is a window of step 1. Where the next position begins with
// the next tap, at the same windows, both are runs of one phase.
std::vector<Phase> phases_of(const WindowAttributes& window, std::size_t axis, std::int64_t count) {
  const std::int64_t stride = window.stride[axis], dilation = window.dilation[axis];
  const std::int64_t every = stride / std::gcd(stride, dilation), apart = every * dilation / stride;
  std::vector<Phase> phases;
  for (std::int64_t first = 0; first < std::min(stride, count); ++first) {
    const std::int64_t at = first + window.before[axis];
    std::int64_t tap = 0;
    while (tap < every && (at - tap * dilation) % stride != 0) ++tap;
    const std::int64_t taps =
        tap < window.window[axis] && tap < every ? (window.window[axis] - tap - 1) / every + 1 : 0;
    const std::int64_t near = taps == 0 ? 0 : (at - tap * dilation) / stride;
    const WindowAxis windows{divided_up(count - first, stride), 1, taps, apart, near - (taps - 1) * apart};
    if (!phases.empty()) {
      Phase& before = phases.back();
      const bool same_windows = before.windows.taps == taps && before.windows.shift == windows.shift &&
                                before.windows.positions == windows.positions;
      if (same_windows && (taps == 0 || tap == before.first_tap + before.runs)) {
        ++before.runs;
        continue;
      }
    }
    phases.push_back({first, 1, tap, every, windows});
  }
  return phases;
}

// Windows of the mirrored kernel over the result's gradient, with its channels exchanged: a product for each phase.
void plan_input_gradient(LaunchPlan& plan, const Context& context, const core::Step& step) {
  const core::Operand &result = step.outputs[0], &weights = step.inputs[1];
  const WindowAttributes& window = window_of(step);
  const std::size_t axes = result.view.shape.size() - 2;
  std::vector<std::vector<Phase>> along;
  std::size_t products = 1;
  for (std::size_t i = 0; i < axes; ++i) {
    along.push_back(phases_of(window, i, result.view.shape[i + 1]));
    products *= along.back().size();
  }
  for (std::size_t number = 0; number < products; ++number) {
    Convolution convolution{step.inputs[0], window.groups, {}};
    ProductOperand kernel = by_group(Role::input, 1, weights, window.groups);
    ProductOperand out = by_group(Role::output, 0, result, window.groups);
    View taps{{}, {}, 0}, runs_of_kernel{{}, {}, 0}, runs_of_result{{}, {}, 0};
    std::size_t rest = number;
    for (std::size_t i = 0; i < axes; ++i) {
      const Phase& phase = along[i][rest % along[i].size()];
      rest /= along[i].size();
      const std::int64_t tap = weights.view.strides[i], position = result.view.strides[i + 1];
      convolution.axes.push_back(phase.windows);
      if (phase.windows.taps > 0)
        kernel.offset += (phase.first_tap + (phase.windows.taps - 1) * phase.tap_stride) * tap;
      taps.shape.push_back(phase.windows.taps);
      taps.strides.push_back(-phase.tap_stride * tap);
      out.offset += phase.first * position;
      out.rows.shape[i + 1] = phase.windows.positions;
      out.rows.strides[i + 1] = window.stride[i] * position;
      runs_of_kernel.shape.push_back(phase.runs);
      runs_of_kernel.strides.push_back(tap);
      runs_of_result.shape.push_back(phase.runs);
      runs_of_result.strides.push_back(position);
    }
    taps.shape.push_back(kernel.columns.shape[0]);
    taps.strides.push_back(kernel.columns.strides[0]);
    kernel.columns = axes_between(weights.view, axes, axes + 1);
    kernel.rows = taps;
    ProductOperand patches = patches_of(plan, context, convolution);
    for (std::size_t i = 0; i < axes; ++i) {
      const auto add = [&](View& batch, std::int64_t stride) {
        batch.shape.push_back(runs_of_result.shape[i]);
        batch.strides.push_back(stride);
      };
      add(patches.batch, 0);
      add(kernel.batch, runs_of_kernel.strides[i]);
      add(out.batch, runs_of_result.strides[i]);
    }
    if (core::is_dense(result.view) && products == 1 && out.batch.count() == window.groups) merge_rows(out);
    append_product(plan, context, product_of(step, std::move(patches), std::move(kernel), std::move(out)));
  }
}

/// Adds the parts up, one after the other.
KernelLaunch sum_of_parts(const Context& context, const core::Operand& result, std::size_t at, std::int64_t parts) {
  const DType stored = accumulator_of(result.dtype);
  const std::int64_t elements = result.view.count();
  KernelText kernel(false);
  const CoordinateLoop loop(context, {elements});
  kernel.memory(Role::workspace, 0, storage_name(stored), size_of(stored),
                static_cast<std::int64_t>(at / size_of(stored)), "in");
  kernel.memory(Role::output, 0, result, "out");
  kernel.number("elements", elements);
  kernel.number("parts", parts);
  loop.open(kernel);
  const std::string sum = text(is_floating(stored) ? "" : "u", storage_name(stored));  // integers wrap
  kernel.line(text("    ", sum, " sum = in[i];"));
  kernel.line("    for (long part = 1; part < parts; ++part) sum += in[part * elements + i];");
  kernel.line(text("    ", store(result.dtype, "out", "i", "sum")));
  return loop.close(kernel);
}

// patch x positions times positions x channels: the images are shared out among parts, whose sums are then added up.
void plan_kernel_gradient(LaunchPlan& plan, const Context& context, const core::Step& step) {
  const core::Operand& result = step.outputs[0];
  const Convolution convolution = over_input(step, step.inputs[1].view.shape);
  const std::int64_t groups = convolution.groups, images = convolution.image.view.shape[0];
  std::int64_t parts = std::clamp<std::int64_t>(images, 1, most_image_parts);
  while (images % parts != 0) --parts;
  // Any element is true: there is no sum to be cut. Work-groups cut all sums themselves, where it helps.
  if (result.dtype == DType::boolean || multiplies_in_groups(context)) parts = 1;
  ProductOperand patches = patches_of(plan, context, convolution);
  std::swap(patches.rows, patches.columns);
  ProductOperand gradient = by_group(Role::input, 1, step.inputs[1], groups);
  ProductOperand out = by_group(Role::output, 0, result, groups);
  merge_rows(out);
  if (parts == 1) {
    append_product(plan, context, product_of(step, std::move(patches), std::move(gradient), std::move(out)));
    return;
  }
  const auto share = [&](ProductOperand& operand, View& positions, std::int64_t image_stride) {
    positions.shape[0] = images / parts;
    operand.batch.shape.insert(std::size_t{0}, parts);
    operand.batch.strides.insert(std::size_t{0}, image_stride * (images / parts));
  };
  share(patches, patches.columns, patches.columns.strides[0]);
  share(gradient, gradient.rows, gradient.rows.strides[0]);
  out.role = Role::workspace;
  out.dtype = accumulator_of(result.dtype);
  const std::size_t size = size_of(out.dtype);
  const std::int64_t elements = result.view.count();
  const std::size_t at = plan.reserve(static_cast<std::size_t>(parts * elements) * size);
  out.offset = static_cast<std::int64_t>(at / size);
  out.batch.shape.insert(std::size_t{0}, parts);
  out.batch.strides.insert(std::size_t{0}, elements);
  append_product(plan, context, product_of(step, std::move(patches), std::move(gradient), std::move(out)));
  plan.launches.push_back(sum_of_parts(context, result, at, parts));
}

}  // namespace

std::span<const OperatorPlan> convolution_plans() {
  static constexpr OperatorPlan plans[] = {
      {OpId::convolution, plan_forward},
      {OpId::convolution_epilogue, plan_forward},
      {OpId::convolution_input_gradient, plan_input_gradient},
      {OpId::convolution_kernel_gradient, plan_kernel_gradient},
  };
  return plans;
}

}  // namespace tyto::opencl
