// Patches are read where the image lies, as a matrix whose rows and columns run along several axes. Where windows reach
// beyond the image, or a stride leaves gaps between what is spread, the image is first laid out with zeros in between.
#include "devices/opencl/convolution.hpp"

#include <algorithm>

#include "core/attributes.hpp"
#include "core/op_ids.hpp"
#include "core/text.hpp"
#include "devices/opencl/coordinate_loop.hpp"
#include "devices/opencl/kernel_text.hpp"
#include "devices/opencl/loop_axes.hpp"
#include "devices/opencl/matrix_product.hpp"

namespace tyto::opencl {

namespace {

using core::OpId;
using core::text;
using core::View;
using core::WindowAttributes;
using Role = MemoryArgument::Role;

// Parts that the sums over all positions are cut into depend on shapes alone, so that results do not depend on the
// device's size.
constexpr std::int64_t most_image_parts = 16;

// Of the vectors in which the CPU style lays out images.
constexpr std::int64_t layout_lanes = 16;

/// How one spatial axis of an image is laid out: element c of `extent` is element (c + shift) / stride of the image,
/// where there is one, else zero.
struct LaidOutAxis {
  std::int64_t extent, shift, stride;

  bool is_image(std::int64_t length) const { return shift == 0 && stride == 1 && extent <= length; }
};

struct Convolution {
  const WindowAttributes& window;
  std::size_t axes;                 // spatial ones
  const core::Operand& image;       // what patches are taken of
  std::vector<LaidOutAxis> layout;  // of the image
  IntList positions;                // of the window
  IntList step;                     // between positions, in elements of the laid-out image
};

const WindowAttributes& window_of(const core::Step& step) {
  if (const auto* product = std::get_if<core::ProductAttributes>(step.attributes)) return product->window;
  return std::get<WindowAttributes>(*step.attributes);
}

/// The windows of a forward convolution, over whose positions the gradient by the kernel adds up too.
Convolution over_input(const core::Step& step, const Shape& result) {
  Convolution c{window_of(step), result.size() - 2, step.inputs[0], {}, {}, {}};
  for (std::size_t i = 0; i < c.axes; ++i) {
    const std::int64_t count = result[i + 1], reach = (c.window.window[i] - 1) * c.window.dilation[i];
    c.positions.push_back(count);
    c.step.push_back(c.window.stride[i]);
    c.layout.push_back({std::max<std::int64_t>(count - 1, 0) * c.window.stride[i] + reach + 1, -c.window.before[i], 1});
  }
  return c;
}

/// The gradient by the input: windows of the mirrored kernel over the result's gradient, its elements a stride apart.
Convolution over_gradient(const core::Step& step, const Shape& result) {
  Convolution c{window_of(step), result.size() - 2, step.inputs[0], {}, {}, {}};
  for (std::size_t i = 0; i < c.axes; ++i) {
    const std::int64_t count = result[i + 1], reach = (c.window.window[i] - 1) * c.window.dilation[i];
    c.positions.push_back(count);
    c.step.push_back(1);
    c.layout.push_back({count + reach, c.window.before[i] - reach, c.window.stride[i]});
  }
  return c;
}

/// Copies the image to the workspace, with zeros where it has no elements.
KernelLaunch layout_kernel(const Context& context, const Convolution& c, const View& laid_out, std::size_t at) {
  const DType type = c.image.dtype, stored = accumulator_of(type);
  const std::vector<View> views = {c.image.view, laid_out};
  KernelText kernel(context.style == Style::gpu && fits_int(views));
  // Channels by vectors: loops over few of them would be short for a compiler's.
  const bool by_vectors = context.style == Style::cpu && is_floating(type) && stored == type &&
                          c.image.view.strides[c.axes + 1] == 1 && laid_out.shape[c.axes + 1] % layout_lanes == 0;
  Shape shape = laid_out.shape;
  if (by_vectors) shape[c.axes + 1] /= layout_lanes;
  const CoordinateLoop loop(context, shape);
  kernel.memory(Role::input, 0, c.image, "in");
  kernel.memory(Role::workspace, 0, storage_name(stored), size_of(stored),
                static_cast<std::int64_t>(at / size_of(stored)), "out");
  const StridedMemory memory("in", c.image.view);
  memory.declare(kernel);
  std::vector<std::string> place = {loop.coordinate(0)};
  for (std::size_t i = 0; i < c.axes; ++i) {
    kernel.number(text("shift", i), c.layout[i].shift);
    kernel.number(text("length", i), c.image.view.shape[i + 1]);
    if (c.layout[i].stride != 1) kernel.number(text("stride", i), c.layout[i].stride);
    place.push_back(text("p", i));
  }
  const std::string channel = loop.coordinate(static_cast<std::int64_t>(c.axes) + 1);
  place.push_back(by_vectors ? text(channel, " * ", layout_lanes) : channel);
  loop.open(kernel);
  kernel.line("    int inside = 1;");
  for (std::size_t i = 0; i < c.axes; ++i) {
    const std::string p = text("p", i), stride = text("stride", i);
    kernel.line(text("    ", kernel.index(), " ", p, " = ", loop.coordinate(static_cast<std::int64_t>(i) + 1),
                     " + shift", i, "; inside &= ", p, " >= 0;"));
    if (c.layout[i].stride != 1) {
      kernel.line(text("    inside &= ", p, " % ", stride, " == 0; ", p, " /= ", stride, ";"));
    }
    kernel.line(text("    inside &= ", p, " < length", i, ";"));
  }
  if (by_vectors) {
    kernel.line(text("    ", type_name(compute_of(type)), layout_lanes, " value = 0;"));
    kernel.line(text("    if (inside) value = vload", layout_lanes, "(0, in + ", memory.place(place), ");"));
    kernel.line(text("    vstore", layout_lanes, "(value, ", CoordinateLoop::number, ", out);"));
  } else {
    kernel.line(text("    ", type_name(compute_of(type)), " value = 0;"));
    kernel.line(text("    if (inside) value = ", load(type, "in", memory.place(place)), ";"));
    kernel.line(text("    ", store(stored, "out", CoordinateLoop::number, "value")));
  }
  return loop.close(kernel);
}

/// The image as patches are read from it: where it lies, or laid out in the workspace first.
ProductOperand patches_of(LaunchPlan& plan, const Context& context, const Convolution& c) {
  ProductOperand image{Role::input, 0, c.image.dtype, c.image.view.offset, {}, {}, {}};
  View view = c.image.view;
  bool as_it_is = true;
  for (std::size_t i = 0; i < c.axes; ++i) as_it_is = as_it_is && c.layout[i].is_image(view.shape[i + 1]);
  if (!as_it_is) {
    Shape shape = view.shape;
    for (std::size_t i = 0; i < c.axes; ++i) shape[i + 1] = c.layout[i].extent;
    view = View::dense(shape);
    image.role = Role::workspace;
    image.dtype = accumulator_of(c.image.dtype);
    const std::size_t size = size_of(image.dtype);
    const std::size_t at = plan.reserve(static_cast<std::size_t>(view.count()) * size);
    if (view.count() > 0) plan.launches.push_back(layout_kernel(context, c, view, at));
    image.offset = static_cast<std::int64_t>(at / size);
  }
  // Rows are positions, columns what a window covers of a group's channels.
  const std::int64_t groups = c.window.groups, channels = view.shape.back() / groups;
  const std::int64_t channel = view.strides[c.axes + 1];
  image.batch = View{{groups}, {channels * channel}, 0};
  image.rows = View{{view.shape[0]}, {view.strides[0]}, 0};
  image.columns = View{{}, {}, 0};
  for (std::size_t i = 0; i < c.axes; ++i) {
    image.rows.shape.push_back(c.positions[i]);
    image.rows.strides.push_back(c.step[i] * view.strides[i + 1]);
    image.columns.shape.push_back(c.window.window[i]);
    image.columns.strides.push_back(c.window.dilation[i] * view.strides[i + 1]);
  }
  image.columns.shape.push_back(channels);
  image.columns.strides.push_back(channel);
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
  const std::int64_t groups = convolution.window.groups;
  ProductOperand patches = patches_of(plan, context, convolution);
  ProductOperand out = by_group(Role::output, 0, result, groups);
  merge_rows(out);
  append_product(
      plan, context,
      product_of(step, std::move(patches), by_group(Role::input, 1, step.inputs[1], groups), std::move(out)));
}

// The same with the kernel mirrored, and with its channels exchanged.
void plan_input_gradient(LaunchPlan& plan, const Context& context, const core::Step& step) {
  const core::Operand &result = step.outputs[0], &weights = step.inputs[1];
  const Convolution convolution = over_gradient(step, result.view.shape);
  const std::int64_t groups = convolution.window.groups;
  ProductOperand patches = patches_of(plan, context, convolution);
  ProductOperand kernel = by_group(Role::input, 1, weights, groups);
  View taps = axes_between(weights.view, 0, convolution.axes);
  for (std::size_t i = 0; i < convolution.axes; ++i) {
    kernel.offset += (taps.shape[i] - 1) * taps.strides[i];
    taps.strides[i] = -taps.strides[i];
  }
  taps.shape.push_back(kernel.columns.shape[0]);
  taps.strides.push_back(kernel.columns.strides[0]);
  kernel.columns = axes_between(weights.view, convolution.axes, convolution.axes + 1);
  kernel.rows = taps;
  ProductOperand out = by_group(Role::output, 0, result, groups);
  merge_rows(out);
  append_product(plan, context, product_of(step, std::move(patches), std::move(kernel), std::move(out)));
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
  const std::int64_t groups = convolution.window.groups, images = convolution.image.view.shape[0];
  ProductOperand patches = patches_of(plan, context, convolution);
  std::swap(patches.rows, patches.columns);
  ProductOperand gradient = by_group(Role::input, 1, step.inputs[1], groups);
  ProductOperand out = by_group(Role::output, 0, result, groups);
  merge_rows(out);
  std::int64_t parts = std::clamp<std::int64_t>(images, 1, most_image_parts);
  while (images % parts != 0) --parts;
  // Any element is true: there is no sum to be cut.
  if (parts == 1 || result.dtype == DType::boolean) {
    append_product(plan, context, product_of(step, std::move(patches), std::move(gradient), std::move(out)));
    return;
  }
  const auto share = [&](ProductOperand& operand, View& positions) {
    positions.shape[0] = images / parts;
    operand.batch.shape.insert(std::size_t{0}, parts);
    operand.batch.strides.insert(std::size_t{0}, positions.strides[0] * (images / parts));
  };
  share(patches, patches.columns);
  share(gradient, gradient.rows);
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

struct Pass {
  OpId op;
  void (*plan)(LaunchPlan& plan, const Context& context, const core::Step& step);
};

constexpr Pass passes[] = {
    {OpId::convolution, plan_forward},
    {OpId::convolution_epilogue, plan_forward},
    {OpId::convolution_input_gradient, plan_input_gradient},
    {OpId::convolution_kernel_gradient, plan_kernel_gradient},
};

const Pass* pass_of(OpId op) {
  const Pass* const found = std::ranges::find(passes, op, &Pass::op);
  return found == std::end(passes) ? nullptr : found;
}

}  // namespace

bool is_convolution(OpId op) { return pass_of(op) != nullptr; }

LaunchPlan convolution_launch_plan(const Context& context, const core::Step& step) {
  LaunchPlan plan;
  plan.name = core::definition(step.op).name;
  if (step.outputs[0].view.count() > 0) pass_of(step.op)->plan(plan, context, step);
  return plan;
}

}  // namespace tyto::opencl
