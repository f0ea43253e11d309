// SPDX-License-Identifier: MIT
// Non-maximum suppression: sorts boxes by score. Then one team goes through them: each that is left is kept, and all of
// the team together strike out those behind it that overlap it too much.
#include "devices/opencl/runtime/families.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/attributes.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/loops/team_loop.hpp"
#include "devices/opencl/moves/ordering.hpp"
#include "devices/opencl/text/kernel_text.hpp"

namespace tyto::opencl {

namespace {

using Role = MemoryArgument::Role;

/// A bound in f64 as one of the elements' type that the same elements exceed: the largest that is not above it.
Argument bound(DType dtype, double value) {
  if (dtype == DType::f64) return value;
  const auto near = static_cast<float>(value);
  return static_cast<double>(near) > value ? std::nextafter(near, -std::numeric_limits<float>::infinity()) : near;
}

// Not fmin and fmax, to which NaN gives way.
std::string lesser(std::string_view a, std::string_view b) { return text("(", b, " < ", a, " ? ", b, " : ", a, ")"); }
std::string greater(std::string_view a, std::string_view b) { return text("(", a, " < ", b, " ? ", b, " : ", a, ")"); }

/// Sets `part`: how much of what the boxes (x1, y1, x2, y2) and (u1, v1, u2, v2) cover both do; NaN without an area.
std::string shared_part(std::string_view real) {
  return text("const ", real, " w = ", lesser("x2", "u2"), " - ", greater("x1", "u1"), ", h = ", lesser("y2", "v2"),
              " - ", greater("y1", "v1"), "; const ", real, " both = ", greater("w", "0"), " * ", greater("h", "0"),
              "; const ", real, " part = both / ((x2 - x1) * (y2 - y1) + (u2 - u1) * (v2 - v1) - both);");
}

KernelLaunch keep_kernel(const Context& context, const core::Step& step, const Ordered& order, std::size_t struck_at) {
  const core::Operand &boxes = step.inputs[0], &scores = step.inputs[1];
  const std::int64_t count = boxes.view.shape[0];
  const auto& attributes = std::get<core::NmsAttributes>(*step.attributes);
  const char* real = type_name(compute_of(boxes.dtype));
  KernelText kernel(false);
  const TeamLoop team(context, 1, count);
  kernel.memory(Role::input, 0, boxes, "boxes");
  kernel.memory(Role::input, 1, scores, "scores");
  kernel.memory(Role::output, 0, step.outputs[0], "kept");
  kernel.memory(Role::output, 1, step.outputs[1], "kept_count");
  order.declare(kernel);
  kernel.memory(Role::workspace, 0, "uchar", 1, static_cast<std::int64_t>(struck_at), "struck");
  kernel.number("box_step", boxes.view.strides[0]);
  kernel.number("edge_step", boxes.view.strides[1]);
  kernel.number("score_step", scores.view.strides[0]);
  kernel.constant("int", "count", static_cast<std::int32_t>(count));
  kernel.constant("int", "most", static_cast<std::int32_t>(std::min(attributes.count, count)));
  kernel.constant("int", "places", static_cast<std::int32_t>(attributes.count));
  kernel.constant(real, "least_score", bound(boxes.dtype, attributes.score));
  kernel.constant(real, "most_overlap", bound(boxes.dtype, attributes.overlap));
  team.open(kernel);
  kernel.line(
      text("    ", team.each("i", "0", "count"), " struck[i] = !(scores[positions[i] * score_step] > least_score);"));
  kernel.line(text("    ", team.each("i", "0", "places"), " kept[i] = -1;"));
  kernel.line(text("    ", team.wait()));
  kernel.line("    int found = 0;");
  kernel.line("    int i = 0;");
  kernel.line("    while (i < count && struck[i]) ++i;");
  kernel.line("    while (i < count && found < most) {");
  const auto edges = [&](std::string_view box, std::initializer_list<const char*> names) {
    int edge = 0;
    for (const char* name : names) {
      kernel.line(text("      const ", real, " ", name, " = boxes[positions[", box, "] * box_step + ", edge++,
                       " * edge_step];"));
    }
  };
  edges("i", {"x1", "y1", "x2", "y2"});
  kernel.line("      if (member == 0) kept[found] = positions[i];");
  kernel.line("      ++found;");
  kernel.line(text("      ", team.each("j", "i + 1", "count"), " {"));
  edges("j", {"u1", "v1", "u2", "v2"});
  kernel.line(text("      ", shared_part(real)));
  kernel.line("      if (part > most_overlap) struck[j] = 1;");
  kernel.line("      }");
  kernel.line(text("      ", team.wait()));
  kernel.line("      ++i;");
  kernel.line("      while (i < count && struck[i]) ++i;");
  kernel.line("    }");
  kernel.line("    if (member == 0) kept_count[0] = found;");
  return team.close(kernel);
}

void append_suppression(LaunchPlan& plan, const Context& context, const core::Step& step) {
  const core::Operand& scores = step.inputs[1];
  Keys keys;
  keys.lines = 1;
  keys.length = scores.view.shape[0];
  keys.wide = has_wide_keys(scores.dtype);
  keys.declare = [&](KernelText& kernel) {
    kernel.memory(Role::input, 1, scores, "scores");
    kernel.number("score_step", scores.view.strides[0]);
  };
  keys.key = [&](KernelText&) { return order_key(scores.dtype, "scores[i * score_step]", true); };
  // Without boxes there is nothing to put in order, but something to be said.
  const Ordered order = keys.length == 0 ? Ordered(keys, 0, 0) : append_ordering(plan, context, keys);
  const std::size_t struck = plan.reserve(static_cast<std::size_t>(std::max<std::int64_t>(keys.length, 1)));
  plan.launches.push_back(keep_kernel(context, step, order, struck));
}

}  // namespace

std::span<const OperatorPlan> suppression_plans() {
  static constexpr OperatorPlan plans[] = {{OpId::nms, append_suppression}};
  return plans;
}

}  // namespace tyto::opencl
