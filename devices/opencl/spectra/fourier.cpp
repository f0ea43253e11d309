// SPDX-License-Identifier: MIT
// A team transforms a line by passes of the Stockham algorithm between two arrays, in local memory where they fit.
//
// A complex point j has its real part at 2 j of an array and its imaginary part behind it. Transforms in the other
// direction exchange both parts before and after. Real lines of even length are transformed as complex ones of half of
// it: X_k = (Z_k + conj Z_m-k) / 2 - i root_k (Z_k - conj Z_m-k) / 2, and back.
#include "devices/opencl/runtime/families.hpp"

#include <algorithm>

#include "core/graph/attributes.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/loops/team_loop.hpp"
#include "devices/opencl/spectra/fourier_tables.hpp"
#include "devices/opencl/text/kernel_text.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

namespace {

using Role = MemoryArgument::Role;

constexpr std::int64_t most_local_bytes = 16384;  // bytes of both arrays; two teams fit a unit then

View without_axis(const View& view, std::size_t axis) {
  View out = view;
  out.shape.erase(axis);
  out.strides.erase(axis);
  give_axis(out);
  return out;
}

class FourierKernel {
 public:
  FourierKernel(const Context& context, const core::Step& step)
      : op_(step.op),
        transform_(std::get<core::TransformAttributes>(*step.attributes)),
        in_(step.inputs[0]),
        out_(step.outputs[0]),
        wide_(real_type(in_.dtype) == DType::f64),
        real_(wide_ ? "double" : "float"),
        pairs_(op_ != OpId::fft && transform_.length % 2 == 0),
        points_(pairs_ ? transform_.length / 2 : transform_.length),
        tables_(fourier_tables(points_, pairs_, wide_ ? DType::f64 : DType::f32)),
        array_(std::max(tables_.points, points_ + (pairs_ ? 1 : 0))),
        axis_(static_cast<std::size_t>(transform_.axis)),
        lines_in_(without_axis(in_.view, axis_)),
        lines_out_(without_axis(out_.view, axis_)),
        lines_(lines_in_.count()),
        local_(bytes() <= most_local_bytes),
        team_(context, lines_, std::max<std::int64_t>(tables_.points / 4, 1)) {}

  KernelLaunch generate(LaunchPlan& plan) {
    declare(plan);
    team_.open(kernel_);
    const std::string own = local_ ? "room" : std::string("room + team * 2 * array");
    space_ = local_ ? "local " : "global ";
    line(space_, real_, "* x = ", own, ", *y = x + array;");
    fetch();
    if (op_ == OpId::irfft && pairs_) pack();
    // A chirped line is multiplied by the chirp, convolved by a transform and its inverse, and multiplied again.
    line("for (int round = 0; round < 2 + chirped; ++round) {");
    multiply();
    passes();
    line("}");
    if (op_ == OpId::rfft && pairs_) unpack();
    put();
    return team_.close(kernel_);
  }

 private:
  template <class... Parts>
  void line(const Parts&... parts) {
    kernel_.line(text("    ", parts...));
  }
  void wait() { line(team_.wait()); }

  std::int64_t bytes() const { return 4 * array_ * (wide_ ? 8 : 4); }

  void declare(LaunchPlan& plan) {
    kernel_.memory(Role::input, 0, real_, wide_ ? 8 : 4, in_.view.offset * numbers_of(in_), "in");
    kernel_.memory(Role::output, 0, real_, wide_ ? 8 : 4, out_.view.offset * numbers_of(out_), "out");
    kernel_.table(text(real_, "2"), "table", tables_.contents);
    if (local_) {
      line("local ", real_, " room[", most_local_bytes / (wide_ ? 8 : 4), "];");
    } else {
      const std::size_t at = plan.reserve(static_cast<std::size_t>(team_.teams() * bytes()));
      kernel_.memory(Role::workspace, 0, real_, wide_ ? 8 : 4, static_cast<std::int64_t>(at) / (wide_ ? 8 : 4), "room");
    }
    from_.declare_lengths(kernel_);
    from_.declare_strides(kernel_);
    to_.declare_strides(kernel_);
    kernel_.number("in_step", in_.view.strides[axis_]);
    kernel_.number("out_step", out_.view.strides[axis_]);
    kernel_.number("array", 2 * array_);
    kernel_.constant("int", "length", static_cast<std::int32_t>(transform_.length));
    kernel_.constant("int", "points", static_cast<std::int32_t>(points_));
    kernel_.constant("int", "size", static_cast<std::int32_t>(tables_.points));
    if (pairs_) kernel_.constant("int", "halves", static_cast<std::int32_t>(tables_.halves));
    kernel_.constant("int", "backward", static_cast<std::int32_t>(is_backward()));
    kernel_.constant("int", "chirped", static_cast<std::int32_t>(tables_.chirped));
    kernel_.constant("int", "chirp", static_cast<std::int32_t>(tables_.chirp));
    kernel_.constant("int", "spectrum", static_cast<std::int32_t>(tables_.kernel));
    if (wide_) kernel_.constant("double", "scale", transform_.scale);
    else kernel_.constant("float", "scale", static_cast<float>(transform_.scale));
  }

  /// Only of fft do the attributes say so: the gradients of the others share their attributes with them.
  bool is_backward() const { return op_ == OpId::irfft || (op_ == OpId::fft && transform_.inverse); }

  /// Numbers that an element of an operand consists of.
  static std::int64_t numbers_of(const core::Operand& operand) { return is_complex(operand.dtype) ? 2 : 1; }

  /// The place `at` of the line in an operand.
  void find_line(const LoopAxes& axes, const core::Operand& operand) {
    line(from_.split("l", "task", "long"));
    line("const long at = (", axes.place("l"), ") * ", numbers_of(operand), ";");
  }
  static std::string point(std::string_view array, std::string_view j, std::string_view part) {
    return text(array, "[2 * (", j, ") + ", part, "]");
  }

  /// Brings the line's points into x.
  void fetch() {
    const std::int64_t width = numbers_of(in_);
    const auto element = [&](std::string_view j, int part) {
      return text("in[at + (", j, ") * in_step", width == 2 ? text(" * 2 + ", part) : "", "]");
    };
    line("{");
    find_line(from_, in_);
    const bool packs = op_ == OpId::irfft && pairs_;
    line(TeamLoop::each("j", "0", packs ? "points + 1" : "points"), " {");
    line(real_, " re = 0, im = 0;");
    if (op_ == OpId::fft) {
      line("re = ", element("j", 0), "; im = ", element("j", 1), ";");
    } else if (op_ == OpId::rfft) {
      line("re = ", element(pairs_ ? "2 * j" : "j", 0), ";");
      if (pairs_) line("im = ", element("2 * j + 1", 0), ";");
    } else {
      // Points that stand for themselves alone are real, whatever is given.
      line("const int mirrored = j > length / 2, k = mirrored ? length - j : j;");
      line("re = ", element("k", 0), ";");
      line("if (k != 0 && 2 * k != length) im = mirrored ? -", element("k", 1), " : ", element("k", 1), ";");
    }
    const std::string_view first = packs ? "0" : "backward";
    line(point("x", "j", first), " = re; ", point("x", "j", text("1 - ", first)), " = im;");
    line("}}");
    wait();
  }

  void put() {
    const std::int64_t width = numbers_of(out_);
    line("{");
    find_line(to_, out_);
    const bool halves = op_ == OpId::rfft;
    line(TeamLoop::each("j", "0", halves ? "length / 2 + 1" : "points"), " {");
    const std::string re = text("scale * ", point("x", "j", "backward")),
                      im = text("scale * ", point("x", "j", "1 - backward"));
    if (width == 2) {
      line("out[at + j * out_step * 2] = ", re, "; out[at + j * out_step * 2 + 1] = ", im, ";");
    } else if (pairs_) {
      line("out[at + 2L * j * out_step] = ", re, "; out[at + (2L * j + 1) * out_step] = ", im, ";");
    } else {
      line("out[at + j * out_step] = ", re, ";");
    }
    line("}}");
  }

  /// Before a round of passes on a chirped line: points times the chirp, or what is convolved with it, and zeros
  /// beyond.
  void multiply() {
    line("const int convolved = round == 1, past = !chirped ? 0 : round == 2 ? points : size;");
    line("const int limit = convolved ? size : points, start = convolved ? spectrum : chirp;");
    line("const int first = round == 2, then = convolved;");
    line(TeamLoop::each("j", "0", "past"), " {");
    line(real_, " re = 0, im = 0;");
    line("if (j < limit) {");
    line("const ", real_, " a = x[2 * j + first], b = x[2 * j + 1 - first];");
    line("const ", real_, "2 w = table[start + j];");
    line("re = a * w.x - b * w.y; im = a * w.y + b * w.x;");
    line("}");
    line("x[2 * j + then] = re; x[2 * j + 1 - then] = im;");
    line("}");
    wait();
  }

  void exchange_arrays() { line("{", space_, real_, "* const other = x; x = y; y = other;}"); }

  void pack() {
    line(TeamLoop::each("k", "0", "points"), " {");
    line("const ", real_, " a = x[2 * k], b = x[2 * k + 1], c = x[2 * (points - k)], d = x[2 * (points - k) + 1];");
    line("const ", real_, "2 w = table[halves + k];");
    line("const ", real_, " off_re = a - c, off_im = b + d;");
    line("y[2 * k + 1] = a + c - (off_im * w.x - off_re * w.y); y[2 * k] = b - d + (off_re * w.x + off_im * w.y);");
    line("}");
    wait();
    exchange_arrays();
  }

  void unpack() {
    line(TeamLoop::each("k", "0", "points + 1"), " {");
    line("const int here = k == points ? 0 : k, other = k == 0 ? 0 : points - k;");
    line("const ", real_, " a = x[2 * here], b = x[2 * here + 1], c = x[2 * other], d = x[2 * other + 1];");
    line("const ", real_, "2 w = table[halves + k];");
    const char* half = wide_ ? "0.5" : "0.5f";
    line("const ", real_, " off_re = ", half, " * (a - c), off_im = ", half, " * (b + d);");
    line("y[2 * k] = ", half, " * (a + c) + (off_im * w.x + off_re * w.y);");
    line("y[2 * k + 1] = ", half, " * (b - d) - (off_re * w.x - off_im * w.y);");
    line("}");
    wait();
    exchange_arrays();
  }

  /// Point q + before (p + m j) of u, for all j below the radix, becomes q + before (radix p + k) of v. The roots of
  /// each pass stand among those of all points.
  void passes() {
    line("for (int left = round <= chirped ? size : 1, before = 1; left > 1;) {");
    line("int radix = left % 4 == 0 ? 4 : left % 2 == 0 ? 2 : 3;");
    line("while (left % radix != 0) radix += 2;");
    line("const int m = left / radix, apart = m * before;");
    line(TeamLoop::each("i", "0", "apart"), " {");
    line("const int p = i / before, q = i % before, to = q + before * radix * p, turn = p * before;");
    const std::string v = real_, root = text("const ", real_, "2 w");
    line("if (radix == 4) {");
    line("const ", v,
         " r0 = x[2 * i], r1 = x[2 * (i + apart)], r2 = x[2 * (i + 2 * apart)], r3 = x[2 * (i + 3 * apart)];");
    line("const ", v, " i0 = x[2 * i + 1], i1 = x[2 * (i + apart) + 1], i2 = x[2 * (i + 2 * apart) + 1], ",
         "i3 = x[2 * (i + 3 * apart) + 1];");
    line("const ", v, " a = r0 + r2, b = i0 + i2, c = r0 - r2, d = i0 - i2, e = r1 + r3, f = i1 + i3, g = r1 - r3, ",
         "h = i1 - i3;");
    line(root, "1 = table[turn], w2 = table[2 * turn], w3 = table[3 * turn];");
    line("y[2 * to] = a + e; y[2 * to + 1] = b + f;");
    const auto turned = [&](int k, std::string_view re, std::string_view im) {
      line("{const ", v, " re = ", re, ", im = ", im, "; const int at = 2 * (to + ", k, " * before); y[at] = re * w", k,
           ".x - im * w", k, ".y; y[at + 1] = re * w", k, ".y + im * w", k, ".x;}");
    };
    turned(1, "c + h", "d - g");
    turned(2, "a - e", "b - f");
    turned(3, "c - h", "d + g");
    line("} else if (radix == 2) {");
    line("const ", v, " r0 = x[2 * i], r1 = x[2 * (i + apart)], i0 = x[2 * i + 1], i1 = x[2 * (i + apart) + 1];");
    line(root, "1 = table[turn];");
    line("y[2 * to] = r0 + r1; y[2 * to + 1] = i0 + i1;");
    turned(1, "r0 - r1", "i0 - i1");
    line("} else {");
    line("for (int k = 0; k < radix; ++k) {");
    line(v, " re = 0, im = 0;");
    line("for (int j = 0, around = 0; j < radix; ++j) {");
    line(root, " = table[around * (size / radix)];");
    line("const ", v, " a = x[2 * (i + j * apart)], b = x[2 * (i + j * apart) + 1];");
    line("re += a * w.x - b * w.y; im += a * w.y + b * w.x;");
    line("around += k; around -= around >= radix ? radix : 0;");
    line("}");
    line(root, " = table[k * turn];");
    line("y[2 * (to + k * before)] = re * w.x - im * w.y; y[2 * (to + k * before) + 1] = re * w.y + im * w.x;");
    line("}}}");
    wait();
    exchange_arrays();
    line("left = m; before *= radix;");
    line("}");
  }

  OpId op_;
  core::TransformAttributes transform_;
  core::Operand in_, out_;
  bool wide_;
  std::string real_;
  bool pairs_;
  std::int64_t points_;  // complex ones of a line
  FourierTables tables_;
  std::int64_t array_;  // room for points in each of two arrays
  std::size_t axis_;
  View lines_in_, lines_out_;
  LoopAxes from_{"x", lines_in_}, to_{"y", lines_out_};
  std::int64_t lines_;
  bool local_;
  TeamLoop team_;
  std::string space_;  // of the arrays
  KernelText kernel_{false};
};

void append_transform(LaunchPlan& plan, const Context& context, const core::Step& step) {
  plan.launches.push_back(FourierKernel(context, step).generate(plan));
}

}  // namespace

std::span<const OperatorPlan> fourier_plans() {
  static constexpr OperatorPlan plans[] = {
      {OpId::fft, append_transform}, {OpId::rfft, append_transform}, {OpId::irfft, append_transform}};
  return plans;
}

}  // namespace tyto::opencl
