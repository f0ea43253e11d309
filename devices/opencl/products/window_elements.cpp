// SPDX-License-Identifier: MIT
// One line an operator: the statements that make an element from its coordinates. Gradients gather, too: an element
// looks for the windows that it lies under, so that nothing is written twice and sums have one order.
#include "devices/opencl/runtime/families.hpp"

#include <functional>
#include <vector>

#include "core/graph/attributes.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/text/coordinate_loop.hpp"
#include "devices/opencl/text/kernel_text.hpp"

namespace tyto::opencl {

namespace {

using Coordinates = std::vector<std::string>;

/// The context in which the lines below write. Spatial axes are numbered from 0; axis 0 of tensors is the batch, the
/// last one the channels.
class WindowWriter {
 public:
  WindowWriter(const Context& context, const core::Step& step)
      : context_(context), step_(step), kernel_(fits_int(step)), loop_(context, step.outputs[0].view.shape) {
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      kernel_.memory(KernelText::Role::input, i, step.inputs[i], text("in", i));
      memory_.emplace_back(text("in", i), step.inputs[i].view);
      memory_.back().declare(kernel_);
    }
    kernel_.memory(KernelText::Role::output, 0, step.outputs[0], "out");
    out_.declare(kernel_);
  }

  const core::WindowAttributes& window() const { return std::get<core::WindowAttributes>(*step_.attributes); }
  std::size_t axes() const { return step_.outputs[0].view.shape.size() - 2; }
  DType dtype() const { return step_.outputs[0].dtype; }
  /// The C type of an element.
  const char* type() const { return type_name(compute_of(dtype())); }
  /// A number as an element.
  std::string as_element(std::string_view number) const { return text("(", type(), ")(", number, ")"); }
  const char* index() const { return kernel_.index(); }
  const Shape& result() const { return step_.outputs[0].view.shape; }
  const Shape& shape(std::size_t input) const { return step_.inputs[input].view.shape; }
  bool has_f64() const { return context_.has_f64; }
  /// The coordinate of the result's element along a spatial axis.
  std::string at(std::size_t axis) const { return loop_.coordinate(static_cast<std::int64_t>(axis) + 1); }

  void number(std::string_view name, std::int64_t value) { kernel_.number(name, value); }
  void begin() { loop_.open(kernel_); }
  void line(std::string_view statements) { kernel_.line(text("    ", statements)); }
  /// The element of an input of the same image and channel, at spatial coordinates called NAME0, NAME1, ...
  std::string element(std::size_t input, std::string_view name) const {
    Coordinates place = {loop_.coordinate(0)};
    for (std::size_t axis = 0; axis < axes(); ++axis) place.push_back(text(name, axis));
    place.push_back(channel());
    return load(step_.inputs[input].dtype, text("in", input), memory_[input].place(place));
  }
  KernelLaunch finish(std::string_view value) {
    Coordinates place = {loop_.coordinate(0)};
    for (std::size_t axis = 0; axis < axes(); ++axis) place.push_back(at(axis));
    place.push_back(channel());
    line(store(dtype(), "out", out_.place(place), value));
    return loop_.close(kernel_);
  }

 private:
  std::string channel() const { return loop_.coordinate(static_cast<std::int64_t>(axes()) + 1); }

  const Context& context_;
  const core::Step& step_;
  KernelText kernel_;
  CoordinateLoop loop_;
  std::vector<StridedMemory> memory_;
  StridedMemory out_{"out", step_.outputs[0].view};
};

/// Declares the windows over an image of `sizes`, of which there are `counts`.
void declare_windows(WindowWriter& w, const Shape& sizes, const Shape& counts) {
  for (std::size_t axis = 0; axis < w.axes(); ++axis) {
    w.number(text("size", axis), sizes[axis + 1]);
    w.number(text("count", axis), counts[axis + 1]);
    w.number(text("window", axis), w.window().window[axis]);
    w.number(text("stride", axis), w.window().stride[axis]);
    w.number(text("dilation", axis), w.window().dilation[axis]);
    w.number(text("before", axis), w.window().before[axis]);
  }
}

void close_loops(WindowWriter& w) { w.line(std::string(w.axes(), '}')); }

/// Loops over the elements p0, p1, ... under the window at FROM0, FROM1, ...; close_loops ends them.
void open_window(WindowWriter& w, const std::function<std::string(std::size_t)>& from) {
  for (std::size_t a = 0; a < w.axes(); ++a) {
    w.line(text("for (", w.index(), " t", a, " = 0; t", a, " < window", a, "; ++t", a, ") { const ", w.index(), " p", a,
                " = ", from(a), " * stride", a, " - before", a, " + t", a, " * dilation", a, "; if (p", a, " < 0 || p",
                a, " >= size", a, ") continue;"));
  }
}

/// Loops over the windows o0, o1, ... that the result's element lies under, in ascending order; it is under their taps
/// u0, u1, ...
void open_windows_over(WindowWriter& w) {
  for (std::size_t a = 0; a < w.axes(); ++a) {
    const std::string q = text("q", a), o = text("o", a), stride = text("stride", a), reach = text("reach", a);
    w.line(text("const ", w.index(), " ", q, " = ", w.at(a), " + before", a, ", ", reach, " = (window", a,
                " - 1) * dilation", a, ";"));
    w.line(text("for (", w.index(), " ", o, " = ", q, " <= ", reach, " ? 0 : (", q, " - ", reach, " + ", stride,
                " - 1) / ", stride, ", past", a, " = min(", q, " / ", stride, " + 1, count", a, "); ", o, " < past", a,
                "; ++", o, ") { const ", w.index(), " u", a, " = (", q, " - ", o, " * ", stride, ")",
                w.window().dilation[a] == 1 ? std::string(";")
                                            : text(" / dilation", a, "; if (u", a, " * dilation", a, " != ", q, " - ",
                                                   o, " * ", stride, ") continue;")));
  }
}

/// The lowest value, which takes the place of a maximum over nothing.
std::string lowest(DType type) {
  switch (type) {
    case DType::i8: return "-128";
    case DType::i16: return "-32768";
    case DType::i32: return "INT_MIN";
    case DType::i64: return "LONG_MIN";
    default: return is_floating(type) ? "-INFINITY" : "0";
  }
}

/// Whether `value` takes the place of the maximum so far: the last NaN wins over everything.
std::string wins(DType type) {
  return is_floating(type) ? "(value > greatest) | (value != value)" : "value > greatest";
}

std::string max_pool(WindowWriter& w) {
  declare_windows(w, w.shape(0), w.result());
  w.begin();
  w.line(text(w.type(), " greatest = ", w.as_element(lowest(w.dtype())), ";"));
  open_window(w, [&](std::size_t a) { return w.at(a); });
  w.line(text("const ", w.type(), " value = ", w.element(0, "p"), "; greatest = (", wins(w.dtype()),
              ") ? value : greatest;"));
  close_loops(w);
  return "greatest";
}

/// The number of the tap NAME0, NAME1, ... of a window.
std::string tap(const WindowWriter& w, std::string_view name) {
  std::string number = text(name, 0);
  for (std::size_t a = 1; a < w.axes(); ++a) number = text("(", number, ") * window", a, " + ", name, a);
  return number;
}

/// Statements that find `taken`, the tap under which the maximum of the window at FROM0, FROM1, ... is, or -1; and do
/// `also` wherever one is `won` for the time being.
void find_maximum(WindowWriter& w, const std::function<std::string(std::size_t)>& from, std::string_view also) {
  w.line(text("int taken = -1; ", w.type(), " greatest = 0;"));
  open_window(w, from);
  w.line(text("const ", w.type(), " value = ", w.element(0, "p"), "; const int won = (taken < 0) | (", wins(w.dtype()),
              "); greatest = won ? value : greatest; taken = won ? (int)(", tap(w, "t"), ") : taken; ", also));
  close_loops(w);
}

std::string max_pool_pick(WindowWriter& w) {
  declare_windows(w, w.shape(0), w.result());
  w.begin();
  w.line(text(w.type(), " picked = 0;"));
  find_maximum(
      w, [&](std::size_t a) { return w.at(a); }, text("picked = won ? ", w.element(1, "p"), " : picked;"));
  return "picked";
}

std::string max_pool_gradient(WindowWriter& w) {
  declare_windows(w, w.result(), w.shape(1));
  w.begin();
  w.line(text(w.type(), " sum = 0;"));
  open_windows_over(w);
  find_maximum(
      w, [](std::size_t a) { return text("o", a); }, "");
  w.line(text("sum += taken == (int)(", tap(w, "u"), ") ? ", w.element(1, "o"), " : ", w.as_element("0"), ";"));
  close_loops(w);
  return "sum";
}

/// Statements that set `divisor` for the average of the window at FROM0, FROM1, ...
void count_elements(WindowWriter& w, const std::function<std::string(std::size_t)>& from) {
  w.line(text(w.index(), " divisor = 1;"));
  for (std::size_t a = 0; a < w.axes(); ++a) {
    if (w.window().count_padding) {
      w.line(text("divisor *= window", a, ";"));
      continue;
    }
    // Taps before the image, and those at or behind its end, are left out.
    w.line(text("{ const ", w.index(), " start = ", from(a), " * stride", a, " - before", a, "; const ", w.index(),
                " first = start >= 0 ? 0 : (-start + dilation", a, " - 1) / dilation", a, "; const ", w.index(),
                " room = size", a, " - start; const ", w.index(), " past = room <= 0 ? 0 : min(window", a,
                ", (room + dilation", a, " - 1) / dilation", a, "); divisor *= max(past - first, (", w.index(),
                ")0); }"));
  }
  w.line(text("divisor = max(divisor, (", w.index(), ")1);"));
}

std::string average_pool(WindowWriter& w) {
  declare_windows(w, w.shape(0), w.result());
  w.begin();
  const auto here = [&](std::size_t a) { return w.at(a); };
  w.line(text(w.type(), " sum = 0;"));
  open_window(w, here);
  w.line(text("sum += ", w.element(0, "p"), ";"));
  close_loops(w);
  count_elements(w, here);
  return text("sum / ", w.as_element("divisor"));
}

std::string average_pool_gradient(WindowWriter& w) {
  declare_windows(w, w.result(), w.shape(0));
  w.begin();
  w.line(text(w.type(), " sum = 0;"));
  open_windows_over(w);
  count_elements(w, [](std::size_t a) { return text("o", a); });
  w.line(text("sum += ", w.element(0, "o"), " / ", w.as_element("divisor"), ";"));
  close_loops(w);
  return "sum";
}

/// Declares how many times as long as the small image the large one is along each axis.
void declare_scales(WindowWriter& w) {
  for (std::size_t a = 0; a < w.axes(); ++a) w.number(text("scale", a), w.window().window[a]);
}

std::string upsample_nearest(WindowWriter& w) {
  declare_scales(w);
  w.begin();
  for (std::size_t a = 0; a < w.axes(); ++a) {
    w.line(text("const ", w.index(), " p", a, " = ", w.at(a), " / scale", a, ";"));
  }
  w.line(text("const ", w.type(), " value = ", w.element(0, "p"), ";"));
  return "value";
}

std::string upsample_nearest_gradient(WindowWriter& w) {
  declare_scales(w);
  w.begin();
  w.line(text(w.type(), " sum = 0;"));
  for (std::size_t a = 0; a < w.axes(); ++a) {
    const std::string scale = text("scale", a), o = text("o", a);
    w.line(text("for (", w.index(), " ", o, " = ", w.at(a), " * ", scale, "; ", o, " < (", w.at(a), " + 1) * ", scale,
                "; ++", o, ") {"));
  }
  w.line(text("sum += ", w.element(0, "o"), ";"));
  close_loops(w);
  return "sum";
}

/// Declares how many elements of the small image there are, and how many of the large one.
void declare_images(WindowWriter& w, const Shape& small, const Shape& large) {
  declare_scales(w);
  for (std::size_t a = 0; a < w.axes(); ++a) {
    w.number(text("small", a), small[a + 1]);
    w.number(text("large", a), large[a + 1]);
  }
}

/// The weight of an element of the small image in one of the large image along an axis, in the widest type there is.
std::string bilinear_weight(const WindowWriter& w, std::size_t axis, std::string_view small, std::string_view large) {
  return text("bilinear_weight_", w.has_f64() ? "f64" : "f32", "(", small, ", ", large, ", small", axis, ", large",
              axis, ")");
}

/// Adds up, over the elements NAME0, NAME1, ... that the loops run over, what each counts.
std::string weighted_sum(WindowWriter& w, std::string_view name,
                         const std::function<std::string(std::size_t)>& weight) {
  const char* wide = w.has_f64() ? "double" : "float";
  w.line(text("const ", wide, " weight = ", weight(0), w.axes() > 1 ? text(" * ", weight(1)) : std::string(),
              w.axes() > 2 ? text(" * ", weight(2)) : std::string(), ";"));
  w.line(text("if (weight != 0) sum += ", w.as_element("weight"), " * ", w.element(0, name), ";"));
  close_loops(w);
  return "sum";
}

std::string upsample_bilinear(WindowWriter& w) {
  declare_images(w, w.shape(0), w.result());
  w.begin();
  w.line(text(w.type(), " sum = 0;"));
  for (std::size_t a = 0; a < w.axes(); ++a) {
    // The centre lies between elements near - 1 and near + 1.
    w.line(text("const ", w.index(), " near", a, " = ", w.at(a), " / scale", a, "; for (", w.index(), " p", a,
                " = max(near", a, " - 1, (", w.index(), ")0); p", a, " < min(near", a, " + 2, small", a, "); ++p", a,
                ") {"));
  }
  return weighted_sum(w, "p", [&](std::size_t a) { return bilinear_weight(w, a, text("p", a), w.at(a)); });
}

std::string upsample_bilinear_gradient(WindowWriter& w) {
  declare_images(w, w.result(), w.shape(0));
  w.begin();
  w.line(text(w.type(), " sum = 0;"));
  for (std::size_t a = 0; a < w.axes(); ++a) {
    const std::string scale = text("scale", a), o = text("o", a);
    w.line(text("for (", w.index(), " ", o, " = max((", w.at(a), " - 1) * ", scale, " - 1, (", w.index(), ")0); ", o,
                " < min((", w.at(a), " + 2) * ", scale, " + 2, large", a, "); ++", o, ") {"));
  }
  return weighted_sum(w, "o", [&](std::size_t a) { return bilinear_weight(w, a, w.at(a), text("o", a)); });
}

/// `write` returns the element's value.
template <std::string (*write)(WindowWriter&)>
void append_window(LaunchPlan& plan, const Context& context, const core::Step& step) {
  WindowWriter writer(context, step);
  const std::string value = write(writer);
  plan.launches.push_back(writer.finish(value));
}

}  // namespace

std::span<const OperatorPlan> window_plans() {
  static constexpr OperatorPlan plans[] = {
      {OpId::max_pool, append_window<max_pool>},
      {OpId::max_pool_gradient, append_window<max_pool_gradient>},
      {OpId::max_pool_pick, append_window<max_pool_pick>},
      {OpId::average_pool, append_window<average_pool>},
      {OpId::average_pool_gradient, append_window<average_pool_gradient>},
      {OpId::upsample_nearest, append_window<upsample_nearest>},
      {OpId::upsample_nearest_gradient, append_window<upsample_nearest_gradient>},
      {OpId::upsample_bilinear, append_window<upsample_bilinear>},
      {OpId::upsample_bilinear_gradient, append_window<upsample_bilinear_gradient>},
  };
  return plans;
}

}  // namespace tyto::opencl
