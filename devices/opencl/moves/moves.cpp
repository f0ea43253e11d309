// SPDX-License-Identifier: MIT
// Joining, repeating and shifting as copies between views; elements are copied by width, unread.
#include "devices/opencl/moves/moves.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "devices/opencl/loops/named_loop.hpp"
#include "devices/opencl/runtime/families.hpp"
#include "devices/opencl/text/complex_pairs.hpp"

namespace tyto::opencl {

namespace {

struct Copy {
  std::size_t input;
  View from, to;
};

/// The integer as wide as an element.
DType of_width(DType type) {
  constexpr DType integers[] = {DType::u8, DType::i16, DType::i32, DType::i64};
  return *std::ranges::find_if(integers, [&](DType integer) { return size_of(integer) == size_of(type); });
}

const View& view_of(const core::Step& step, std::size_t input) { return step.inputs[input].view; }

View part(const View& view, const IntList& start, const IntList& count) {
  return core::slice(view, start, count, IntList(count.size(), 1));
}

std::vector<Copy> copy_copies(const core::Step& step) { return {{0, view_of(step, 0), step.outputs[0].view}}; }

std::vector<Copy> set_slice_copies(const core::Step& step) {
  const auto& replaced = std::get<core::SliceAttributes>(*step.attributes);
  const View& out = step.outputs[0].view;
  return {{0, view_of(step, 0), out},
          {1, view_of(step, 1), core::slice(out, replaced.start, replaced.count, replaced.step)}};
}

std::vector<Copy> concat_copies(const core::Step& step) {
  const auto axis = static_cast<std::size_t>(std::get<core::AxisAttributes>(*step.attributes).axis);
  const View& out = step.outputs[0].view;
  IntList start(out.shape.size(), 0);
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const View& in = view_of(step, i);
    copies.push_back({i, in, part(out, start, in.shape)});
    start[axis] += in.shape[axis];
  }
  return copies;
}

/// Both with one more axis before or behind `axis`, along which only the result moves.
void insert_copies(View& from, View& to, std::size_t axis, std::int64_t count, std::int64_t stride) {
  for (View* view : {&from, &to}) view->shape.insert(axis, count);
  from.strides.insert(axis, 0);
  to.strides.insert(axis, stride);
}

std::vector<Copy> tile_copies(const core::Step& step) {
  const IntList& repeats = std::get<core::ListAttributes>(*step.attributes).list;
  View from = view_of(step, 0), to = step.outputs[0].view;
  to.shape = from.shape;
  for (std::size_t axis = from.shape.size(); axis-- > 0;) {
    insert_copies(from, to, axis, repeats[axis], to.strides[axis] * from.shape[axis]);
  }
  return {{0, from, to}};
}

std::vector<Copy> repeat_copies(const core::Step& step) {
  const IntList& list = std::get<core::ListAttributes>(*step.attributes).list;  // how often, and along which axis
  const auto axis = static_cast<std::size_t>(list[1]);
  View from = view_of(step, 0), to = step.outputs[0].view;
  to.shape = from.shape;
  const std::int64_t apart = to.strides[axis];
  to.strides[axis] *= list[0];
  insert_copies(from, to, axis + 1, list[0], apart);
  return {{0, from, to}};
}

// Along each shifted axis everything falls into the part that moves up and the part that comes round.
std::vector<Copy> roll_copies(const core::Step& step) {
  const IntList& shifts = std::get<core::ListAttributes>(*step.attributes).list;
  std::vector<Copy> copies = {{0, view_of(step, 0), step.outputs[0].view}};
  for (std::size_t axis = 0; axis < shifts.size(); ++axis) {
    const std::int64_t length = view_of(step, 0).shape[axis];
    if (length == 0) return {};
    const std::int64_t shift = (shifts[axis] % length + length) % length;
    if (shift == 0) continue;
    std::vector<Copy> halves;
    for (const Copy& whole : copies) {
      const auto half = [&](std::int64_t from, std::int64_t to, std::int64_t count) {
        IntList start(shifts.size(), 0), target(shifts.size(), 0), counts = whole.from.shape;
        start[axis] = from;
        target[axis] = to;
        counts[axis] = count;
        halves.push_back({0, part(whole.from, start, counts), part(whole.to, target, counts)});
      };
      half(0, shift, length - shift);
      half(length - shift, 0, shift);
    }
    copies = std::move(halves);
  }
  return copies;
}

template <std::vector<Copy> (*copies)(const core::Step&)>
void append_copies(LaunchPlan& plan, const Context& context, const core::Step& step) {
  for (const Copy& copy : copies(step)) {
    append_copy(plan, context, copy.input, copy.from, {step.outputs[0].dtype, copy.to});
  }
}

}  // namespace

std::span<const OperatorPlan> move_plans() {
  static constexpr OperatorPlan plans[] = {
      {OpId::copy, append_copies<copy_copies>},     {OpId::set_slice, append_copies<set_slice_copies>},
      {OpId::concat, append_copies<concat_copies>}, {OpId::tile, append_copies<tile_copies>},
      {OpId::repeat, append_copies<repeat_copies>}, {OpId::roll, append_copies<roll_copies>},
  };
  return plans;
}

void append_copy(LaunchPlan& plan, const Context& context, std::size_t input, const core::View& from,
                 const core::Operand& to) {
  // No integer is as wide as two numbers in f64.
  if (to.dtype == DType::c128) {
    return append_copy(plan, context, input, as_pairs({to.dtype, from}).view, as_pairs(to));
  }
  const DType type = of_width(to.dtype);
  NamedLoop loop;
  loop.bound.inputs = {{type, from}};
  loop.bound.outputs = {{type, to.view}};
  loop.bound.loop.shape = to.view.shape;
  loop.bound.loop.program.inputs = 1;
  loop.bound.loop.program.outputs = {0};
  for (KernelLaunch& launch : element_launch_plan(context, loop).launches) {
    for (Argument& argument : launch.arguments) {
      auto* const memory = std::get_if<MemoryArgument>(&argument);
      if (memory != nullptr && memory->role == MemoryArgument::Role::input) memory->index = input;
    }
    const auto bytes = static_cast<std::int64_t>(size_of(type));
    if (from.strides == to.view.strides) launch.unless = InPlace{input, (to.view.offset - from.offset) * bytes};
    plan.launches.push_back(std::move(launch));
  }
}

}  // namespace tyto::opencl
