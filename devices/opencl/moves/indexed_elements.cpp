// SPDX-License-Identifier: MIT
// One line an operator: the statements that set `value`, the bits of an element, from its coordinates c0, c1, ...
#include "devices/opencl/runtime/families.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "core/value/stored_scalar.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/runtime/faults.hpp"
#include "devices/opencl/text/coordinate_loop.hpp"
#include "devices/opencl/text/kernel_text.hpp"

namespace tyto::opencl {

namespace {

using Coordinates = std::vector<std::string>;

/// Elements are moved as unsigned integers of their width, or as two.
const char* bits_name(DType type) {
  switch (size_of(type)) {
    case 1: return "uchar";
    case 2: return "ushort";
    case 4: return "uint";
    case 8: return "ulong";
    default: return "ulong2";
  }
}

std::int64_t bits_of(const Scalar& number, DType type) {
  const Scalar value = core::as_stored(number, type);
  switch (type) {
    case DType::boolean: return value.as_double() != 0;
    case DType::f16: return std::bit_cast<std::uint16_t>(Half(static_cast<float>(value.as_double())));
    case DType::bf16: return std::bit_cast<std::uint16_t>(BFloat16(static_cast<float>(value.as_double())));
    case DType::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(value.as_double()));
    case DType::f64: return std::bit_cast<std::int64_t>(value.as_double());
    case DType::c64: return bits_of(value.as_double(), DType::f32) | bits_of(value.imaginary(), DType::f32) << 32;
    default: return static_cast<std::int64_t>(value.as_unsigned());
  }
}

/// The context in which the lines below write: the kernel, the loop around them, and the operands.
class ElementWriter {
 public:
  ElementWriter(const Context& context, const core::Step& step)
      : step_(step),
        kernel_(fits_int(step)),
        loop_(context, step.outputs[0].view.shape),
        bits_(bits_name(step.outputs[0].dtype)) {
    // The first operand holds elements, or indices where it is the only thing known.
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const core::Operand& operand = step.inputs[i];
      const bool reads_numbers = step.op == OpId::one_hot || step.op == OpId::check_bounds;
      const bool moved = i == 0 && operand.dtype == step.outputs[0].dtype && !reads_numbers;
      views_.push_back(operand.view);
      kernel_.memory(KernelText::Role::input, i, moved ? bits_ : storage_name(operand.dtype), size_of(operand.dtype),
                     operand.view.offset, text("in", i));
    }
    kernel_.memory(KernelText::Role::output, 0, bits_, size_of(step.outputs[0].dtype), step.outputs[0].view.offset,
                   "out");
  }

  template <class Attributes>
  const Attributes& attributes() const {
    return std::get<Attributes>(*step_.attributes);
  }
  const View& view(std::size_t input) const { return step_.inputs[input].view; }
  std::size_t inputs() const { return step_.inputs.size(); }
  std::int64_t rank() const { return step_.outputs[0].view.rank(); }
  std::int64_t length(std::int64_t axis) const { return step_.outputs[0].view.shape[static_cast<std::size_t>(axis)]; }
  std::string c(std::int64_t axis) const { return loop_.coordinate(axis); }
  Coordinates coordinates(std::int64_t first, std::int64_t past) const {
    Coordinates out;
    for (std::int64_t axis = first; axis < past; ++axis) out.push_back(c(axis));
    return out;
  }

  /// Input `i` as if it had been stretched or had lost axes; before anything reads it.
  void show(std::size_t i, const View& view) { views_[i] = view; }
  void number(std::string_view name, std::int64_t value) { kernel_.number(name, value); }
  void long_number(std::string_view name, std::int64_t value) { kernel_.constant("long", name, Argument(value)); }
  void fault_code(std::string_view name, std::int32_t code) { kernel_.constant("int", name, Argument(code)); }
  /// Bits of an element of the result's type as an argument.
  void bits(std::string_view name, const Scalar& value) {
    const DType type = step_.outputs[0].dtype;
    if (type != DType::c128) return kernel_.constant("long", name, Argument(bits_of(value, type)));
    const Scalar number = core::as_stored(value, type);
    kernel_.constant("long", text(name, "_re"), Argument(bits_of(number.as_double(), DType::f64)));
    kernel_.constant("long", text(name, "_im"), Argument(bits_of(number.imaginary(), DType::f64)));
    kernel_.line(text("  const ulong2 ", name, " = (ulong2)((ulong)", name, "_re, (ulong)", name, "_im);"));
  }
  /// Everything is declared: what follows is done for each element.
  void begin() {
    for (std::size_t i = 0; i < views_.size(); ++i) memory_.emplace_back(text("in", i), views_[i]);
    constexpr OpId faulting[] = {OpId::take, OpId::take_along_axis, OpId::gather, OpId::check_bounds};
    if (std::ranges::find(faulting, step_.op) != std::end(faulting)) kernel_.faults();
    out_.declare(kernel_);
    for (const StridedMemory& memory : memory_) memory.declare(kernel_);
    loop_.open(kernel_);
    kernel_.line(text("    ", bits_, " value = 0;"));
  }
  void line(std::string_view statements) { kernel_.line(text("    ", statements)); }
  std::string element(std::size_t i, const Coordinates& at) const {
    return text("in", i, "[", memory_[i].place(at), "]");
  }
  /// The position that an index of tensor `i` means along an axis of `length` (an argument's name).
  std::string position(std::size_t i, const Coordinates& at, std::string_view length) const {
    return text("position_in((long)", element(i, at), ", ", length, ", faults, ", Faults::code_of(step_.op), ")");
  }
  std::string index_type() const { return kernel_.index(); }

  KernelLaunch finish() {
    kernel_.line(text("    out[", out_.place(coordinates(0, rank())), "] = value;"));
    return loop_.close(kernel_);
  }

 private:
  const core::Step& step_;
  KernelText kernel_;
  CoordinateLoop loop_;
  std::string bits_;
  std::vector<View> views_;
  std::vector<StridedMemory> memory_;
  StridedMemory out_{"out", step_.outputs[0].view};
};

void pad(ElementWriter& w) {
  const auto& padding = w.attributes<core::PadAttributes>();
  const bool is_empty = w.view(0).count() == 0;
  w.bits("fill", padding.value);
  for (std::int64_t axis = 0; axis < w.rank(); ++axis) {
    w.number(text("before", axis), padding.before[static_cast<std::size_t>(axis)]);
    w.number(text("length", axis), w.view(0).shape[static_cast<std::size_t>(axis)]);
  }
  w.begin();
  w.line(text("int inside = ", is_empty ? 0 : 1, ";"));
  Coordinates at;
  for (std::int64_t axis = 0; axis < w.rank(); ++axis) {
    const std::string p = text("p", axis), length = text("length", axis);
    w.line(text(w.index_type(), " ", p, " = ", w.c(axis), " - before", axis, ";"));
    const std::int64_t extent = w.view(0).shape[static_cast<std::size_t>(axis)];
    if (is_empty || padding.mode == core::PadMode::constant) {
      w.line(text("inside &= (", p, " >= 0) & (", p, " < ", length, ");"));
    } else if (padding.mode == core::PadMode::edge || extent == 1) {
      w.line(text(p, " = clamp(", p, ", (", w.index_type(), ")0, ", length, " - 1);"));
    } else {
      // Round again, or up and down again: with the elements at the ends once (reflect) or twice (symmetric).
      const bool wraps = padding.mode == core::PadMode::wrap, twice = padding.mode == core::PadMode::symmetric;
      const std::string period = wraps ? length : text("2 * (", length, twice ? ")" : " - 1)");
      w.line(text("{ const ", w.index_type(), " period = ", period, ";"));
      w.line(text("  const ", w.index_type(), " phase = (", p, " % period + period) % period;"));
      w.line(text("  ", p, " = phase < ", length, " ? phase : period - phase", twice ? " - 1" : "", "; }"));
    }
    at.push_back(p);
  }
  w.line(text("value = fill; if (inside) value = ", w.element(0, at), ";"));
}

/// How far the column of an element is from its row, kept where no element can tell the difference.
std::int64_t within_reach(std::int64_t diagonal, std::int64_t rows, std::int64_t columns) {
  return std::clamp(diagonal, -rows - 1, columns + 1);
}

void triangle(ElementWriter& w, std::string_view kept) {
  const std::int64_t row = w.rank() - 2, column = w.rank() - 1;
  const std::int64_t diagonal = w.attributes<core::ListAttributes>().list[0];
  w.number("diagonal", within_reach(diagonal, w.length(row), w.length(column)));
  w.begin();
  w.line(text("if (", w.c(column), kept, w.c(row), " + diagonal) value = ", w.element(0, w.coordinates(0, w.rank())),
              ";"));
}
void tril(ElementWriter& w) { triangle(w, " <= "); }
void triu(ElementWriter& w) { triangle(w, " >= "); }

void diag_embed(ElementWriter& w) {
  const std::int64_t row = w.rank() - 2, column = w.rank() - 1;
  const std::int64_t diagonal = w.attributes<core::ListAttributes>().list[0];
  w.number("diagonal", within_reach(diagonal, w.length(row), w.length(column)));
  w.begin();
  Coordinates at = w.coordinates(0, row);
  at.push_back(w.c(diagonal >= 0 ? row : column));
  w.line(text("if (", w.c(column), " == ", w.c(row), " + diagonal) value = ", w.element(0, at), ";"));
}

void one_hot(ElementWriter& w) {
  w.bits("one", Scalar(1));
  w.begin();
  const std::int64_t depth = w.rank() - 1;
  w.line(text("value = (long)", w.element(0, w.coordinates(0, depth)), " == ", w.c(depth), " ? one : 0;"));
}

void take(ElementWriter& w) {
  const std::int64_t axis = w.attributes<core::AxisAttributes>().axis, chosen = w.view(1).rank();
  w.number("length", w.view(0).shape[static_cast<std::size_t>(axis)]);
  w.begin();
  w.line(text("const ", w.index_type(), " p = ", w.position(1, w.coordinates(axis, axis + chosen), "length"), ";"));
  Coordinates at = w.coordinates(0, axis);
  at.push_back("p");
  for (const std::string& inner : w.coordinates(axis + chosen, w.rank())) at.push_back(inner);
  w.line(text("value = ", w.element(0, at), ";"));
}

void take_along_axis(ElementWriter& w) {
  const auto axis = static_cast<std::size_t>(w.attributes<core::AxisAttributes>().axis);
  const std::int64_t length = w.view(0).shape[axis];
  Shape shape, of_source;
  for (std::int64_t a = 0; a < w.rank(); ++a) shape.push_back(w.length(a));
  of_source = shape;
  of_source[axis] = length;
  w.show(0, core::broadcast_to(w.view(0), of_source));
  w.show(1, core::broadcast_to(w.view(1), shape));
  w.number("length", length);
  w.begin();
  Coordinates at = w.coordinates(0, w.rank());
  w.line(text("const ", w.index_type(), " p = ", w.position(1, at, "length"), ";"));
  at[axis] = "p";
  w.line(text("value = ", w.element(0, at), ";"));
}

void gather(ElementWriter& w) {
  const std::int64_t chosen = w.view(1).rank();
  for (std::size_t i = 1; i < w.inputs(); ++i) w.number(text("length", i), w.view(0).shape[i - 1]);
  w.begin();
  Coordinates at;
  for (std::size_t i = 1; i < w.inputs(); ++i) {
    w.line(text("const ", w.index_type(), " p", i, " = ", w.position(i, w.coordinates(0, chosen), text("length", i)),
                ";"));
    at.push_back(text("p", i));
  }
  for (const std::string& inner : w.coordinates(chosen, w.rank())) at.push_back(inner);
  w.line(text("value = ", w.element(0, at), ";"));
}

void check_bounds(ElementWriter& w) {
  const auto& bounds = w.attributes<core::BoundsAttributes>();
  w.long_number("low", bounds.low);
  w.long_number("high", bounds.high);
  w.fault_code("code", Faults::code_of(bounds));
  w.begin();
  w.line(text("const long number = (long)", w.element(0, w.coordinates(0, w.rank())), ";"));
  w.line("if ((number < low) | (number > high)) note_fault(faults, code, number, 0);");
  w.line("value = number;");
}

template <void (*write)(ElementWriter&)>
void append_indexed(LaunchPlan& plan, const Context& context, const core::Step& step) {
  ElementWriter writer(context, step);
  write(writer);
  plan.launches.push_back(writer.finish());
}

}  // namespace

std::span<const OperatorPlan> indexed_plans() {
  static constexpr OperatorPlan plans[] = {
      {OpId::pad, append_indexed<pad>},
      {OpId::tril, append_indexed<tril>},
      {OpId::triu, append_indexed<triu>},
      {OpId::diag_embed, append_indexed<diag_embed>},
      {OpId::one_hot, append_indexed<one_hot>},
      {OpId::take, append_indexed<take>},
      {OpId::take_along_axis, append_indexed<take_along_axis>},
      {OpId::gather, append_indexed<gather>},
      {OpId::check_bounds, append_indexed<check_bounds>},
  };
  return plans;
}

}  // namespace tyto::opencl
