// SPDX-License-Identifier: MIT
// Operators that only move elements: they are copied by width, unread, in the longest runs that the layouts allow.
#include <array>
#include <cstring>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "core/value/copy_bytes.hpp"
#include "core/value/stored_scalar.hpp"
#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/arithmetic/tile_loops/find_loop.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;
using core::PadMode;
using core::View;

std::size_t element_size(const core::Step& step) { return size_of(step.outputs[0].dtype); }

KernelRef run_copies(CopyList copies) {
  const int team_size = threads_to_copy(copies.bytes());
  return make_kernel([copies = std::move(copies), team_size](Addresses inputs, Addresses outputs, core::Address) {
    run_team(team_size, [&](Team team) { copies.run(inputs, outputs[0].pointer(), team); });
  });
}

/// The part of a view that starts at `start` and has `count` elements along each axis.
View part(const View& view, const IntList& start, const IntList& count) {
  return core::slice(view, start, count, IntList(count.size(), 1));
}

KernelRef prepare_set_slice(const core::Step& step) {
  const auto& attributes = std::get<core::SliceAttributes>(*step.attributes);
  const View& out = step.outputs[0].view;
  const std::size_t size = element_size(step);
  CopyList whole, replaced;
  whole.add(0, step.inputs[0].view, out, size);
  replaced.add(1, step.inputs[1].view, core::slice(out, attributes.start, attributes.count, attributes.step), size);
  const int team_size = threads_to_copy(whole.bytes() + replaced.bytes());
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    run_team(team_size, [&](Team team) {
      whole.run(inputs, outputs[0].pointer(), team);
      team.barrier();
      replaced.run(inputs, outputs[0].pointer(), team);
    });
  });
}

KernelRef prepare_concat(const core::Step& step) {
  const auto axis = static_cast<std::size_t>(std::get<core::AxisAttributes>(*step.attributes).axis);
  const View& out = step.outputs[0].view;
  IntList start(out.shape.size(), 0);
  CopyList copies;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const View& in = step.inputs[i].view;
    copies.add(i, in, part(out, start, in.shape), element_size(step));
    start[axis] += in.shape[axis];
  }
  return run_copies(std::move(copies));
}

// The result read with one more axis a copy, along which the input does not move.
KernelRef prepare_tile(const core::Step& step) {
  const IntList& repeats = std::get<core::ListAttributes>(*step.attributes).list;
  const View& in = step.inputs[0].view;
  const View& out = step.outputs[0].view;
  View from{{}, {}, in.offset}, to{{}, {}, out.offset};
  for (std::size_t axis = 0; axis < in.shape.size(); ++axis) {
    for (View* view : {&from, &to}) {
      view->shape.push_back(repeats[axis]);
      view->shape.push_back(in.shape[axis]);
    }
    from.strides.push_back(0);
    from.strides.push_back(in.strides[axis]);
    to.strides.push_back(out.strides[axis] * in.shape[axis]);
    to.strides.push_back(out.strides[axis]);
  }
  CopyList copies;
  copies.add(0, from, to, element_size(step));
  return run_copies(std::move(copies));
}

KernelRef prepare_repeat(const core::Step& step) {
  const IntList& list = std::get<core::ListAttributes>(*step.attributes).list;
  const std::int64_t count = list[0];
  const auto axis = static_cast<std::size_t>(list[1]);
  View from = step.inputs[0].view, to = step.outputs[0].view;
  to.shape = from.shape;
  const std::int64_t step_out = to.strides[axis];
  to.strides[axis] *= count;
  for (View* view : {&from, &to}) view->shape.insert(axis + 1, count);
  from.strides.insert(axis + 1, 0);
  to.strides.insert(axis + 1, step_out);
  CopyList copies;
  copies.add(0, from, to, element_size(step));
  return run_copies(std::move(copies));
}

// Each shifted axis falls into the part that moves up and the part that comes round.
KernelRef prepare_roll(const core::Step& step) {
  const IntList& shifts = std::get<core::ListAttributes>(*step.attributes).list;
  const View& in = step.inputs[0].view;
  const View& out = step.outputs[0].view;
  struct Segment {
    IntList from, to, count;
  };
  std::vector<Segment> segments{{IntList(in.shape.size(), 0), IntList(in.shape.size(), 0), in.shape}};
  for (std::size_t axis = 0; axis < in.shape.size(); ++axis) {
    const std::int64_t length = in.shape[axis];
    if (length == 0) return run_copies({});
    const std::int64_t shift = (shifts[axis] % length + length) % length;
    if (shift == 0) continue;
    std::vector<Segment> halves;
    for (const Segment& whole : segments) {
      Segment up = whole, round = whole;
      up.to[axis] = shift;
      up.count[axis] = length - shift;
      round.from[axis] = length - shift;
      round.count[axis] = shift;
      halves.push_back(up);
      halves.push_back(round);
    }
    segments = std::move(halves);
  }
  CopyList copies;
  for (const Segment& segment : segments) {
    copies.add(0, part(in, segment.from, segment.count), part(out, segment.to, segment.count), element_size(step));
  }
  return run_copies(std::move(copies));
}

template <class U>
U bits_of_scalar(const Scalar& number, DType dtype) {
  const Scalar value = core::as_stored(number, dtype);
  U bits{};
  if (is_complex(dtype)) {
    std::array<std::byte, 2 * sizeof(double)> pair{};
    const auto put = [&](auto part, std::size_t place) { std::memcpy(&pair[place * sizeof part], &part, sizeof part); };
    for (std::size_t place : {0u, 1u}) {
      const double part = place == 0 ? value.as_double() : value.imaginary();
      dtype == DType::c64 ? put(static_cast<float>(part), place) : put(part, place);
    }
    std::memcpy(&bits, pair.data(), sizeof(U));
    return bits;
  }
  if constexpr (std::is_integral_v<U>) bits = static_cast<U>(element_bits(tile_loops(instruction_set()), value, dtype));
  return bits;
}

/// Where element `position` of a padded axis comes from; -1 for the constant.
std::int64_t padded_source(std::int64_t position, std::int64_t length, PadMode mode) {
  if (position >= 0 && position < length) return position;
  if (mode == PadMode::constant || length == 0) return -1;
  if (mode == PadMode::edge || length == 1) return position < 0 ? 0 : length - 1;
  const std::int64_t period = mode == PadMode::wrap ? length : 2 * (mode == PadMode::symmetric ? length : length - 1);
  const std::int64_t phase = (position % period + period) % period;
  if (phase < length) return phase;
  return mode == PadMode::symmetric ? period - 1 - phase : period - phase;
}

/// A padded tensor's views and its margins before each axis.
struct Padded {
  View in, out;
  IntList before;
};

// Behind an axis that is padded with a constant, one that is not is part of it: channels behind columns, say, make one
// row as long as all of them. So is any axis behind another when neither is padded, and an axis of one element.
Padded with_axes_joined(Padded p, PadMode mode) {
  for (std::size_t axis = p.in.shape.size(); axis-- > 1;) {
    const std::size_t outer = axis - 1;
    const std::int64_t inner = p.in.shape[axis];
    const bool outer_is_padded = p.in.shape[outer] != p.out.shape[outer];
    if (inner != p.out.shape[axis] || (outer_is_padded && mode != PadMode::constant && inner != 1)) continue;
    const bool follows = inner == 1 || p.in.shape[outer] <= 1 || p.in.strides[outer] == inner * p.in.strides[axis];
    if (!follows) continue;
    const std::int64_t step = inner == 1 ? p.in.strides[outer] : p.in.strides[axis];
    p.in.shape[outer] *= inner;
    p.out.shape[outer] *= inner;
    p.before[outer] *= inner;
    p.in.strides[outer] = step;
    for (IntList* list : {&p.in.strides, &p.before}) list->erase(axis);
    for (Shape* shape : {&p.in.shape, &p.out.shape}) shape->erase(axis);
  }
  return p;
}

// Row by row of the last axis: a row is a run of the input between two margins, or all padding.
template <class U>
KernelRef pad_kernel(const core::Step& step) {
  const auto& attributes = std::get<core::PadAttributes>(*step.attributes);
  if (step.inputs[0].view.rank() == 0) {
    CopyList copies;
    copies.add(0, step.inputs[0].view, step.outputs[0].view, sizeof(U));
    return run_copies(std::move(copies));
  }
  const PadMode mode = attributes.mode;
  const Padded padded = with_axes_joined({step.inputs[0].view, step.outputs[0].view, attributes.before}, mode);
  const View in = padded.in, out = padded.out;
  const IntList before = padded.before;
  const U value = bits_of_scalar<U>(attributes.value, step.outputs[0].dtype);
  const std::size_t last = in.shape.size() - 1;
  const std::int64_t total = out.count(), width = out.shape[last], rows = width == 0 ? 0 : total / width;

  const auto write_row = [=](const U* x, U* y, std::int64_t row) {
    x += in.offset;
    for (std::size_t axis = last; axis-- > 0; row /= out.shape[axis]) {
      const std::int64_t source = padded_source(row % out.shape[axis] - before[axis], in.shape[axis], mode);
      if (source < 0) {
        std::fill_n(y, width, value);
        return;
      }
      x += source * in.strides[axis];
    }
    const std::int64_t first = before[last], run = in.shape[last], stride = in.strides[last];
    const auto margin = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t source = padded_source(i - first, run, mode);
        y[i] = source < 0 ? value : x[source * stride];
      }
    };
    margin(0, first);
    if (stride == 1) {
      if (x != y + first)
        core::copy_bytes(
            y + first, x,
            static_cast<std::size_t>(run) * sizeof(U));  // equal where the input was computed in its place here
    } else {
      for (std::int64_t i = 0; i < run; ++i) y[first + i] = x[i * stride];
    }
    margin(first + run, width);
  };
  const int team_size = threads_to_copy(total * static_cast<std::int64_t>(sizeof(U)));
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    const U* x = reinterpret_cast<const U*>(inputs[0].pointer());
    U* y = reinterpret_cast<U*>(outputs[0].pointer()) + out.offset;
    run_team(team_size, [&](Team team) {
      const Range mine = share(rows, team.member, team.size);
      for (std::int64_t row = mine.begin; row < mine.end; ++row) write_row(x, y + row * width, row);
    });
  });
}

KernelRef prepare_pad(const core::Step& step) {
  return with_width(step.outputs[0].dtype, [&]<class U>(std::type_identity<U>) { return pad_kernel<U>(step); });
}

KernelRef prepare_diag_embed(const core::Step& step) {
  const std::int64_t offset = std::get<core::ListAttributes>(*step.attributes).list[0];
  const View& out = step.outputs[0].view;
  const std::size_t rank = out.shape.size();
  View diagonal = out;
  const std::int64_t row = out.strides[rank - 2], column = out.strides[rank - 1];
  diagonal.shape = step.inputs[0].view.shape;
  diagonal.strides.pop_back();
  diagonal.strides[rank - 2] = row + column;
  diagonal.offset += offset >= 0 ? offset * column : -offset * row;
  CopyList copies;
  copies.add(0, step.inputs[0].view, diagonal, element_size(step));
  const std::int64_t bytes = out.count() * static_cast<std::int64_t>(element_size(step));
  const std::int64_t begin = out.offset * static_cast<std::int64_t>(element_size(step));
  const int team_size = threads_to_copy(bytes);
  return make_clearing_kernel([=](Addresses inputs, Addresses outputs, bool holds_zeros) {
    run_team(team_size, [&](Team team) {
      if (!holds_zeros) {
        const Range mine = share(bytes, team.member, team.size, 4096);
        std::memset(outputs[0].pointer() + begin + mine.begin, 0, static_cast<std::size_t>(mine.size()));
        team.barrier();
      }
      copies.run(inputs, outputs[0].pointer(), team);
    });
  });
}

// A row keeps a prefix (tril) or a suffix (triu); the rest is zero.
template <class U>
KernelRef triangle_kernel(const core::Step& step) {
  const std::int64_t diagonal = std::get<core::ListAttributes>(*step.attributes).list[0];
  const bool lower = step.op == OpId::tril;
  const View& in = step.inputs[0].view;
  const View& out = step.outputs[0].view;
  const std::size_t rank = in.shape.size();
  const std::int64_t height = in.shape[rank - 2], width = in.shape[rank - 1], stride = in.strides[rank - 1];
  // Any 64-bit number may be asked for; beyond the corners all are alike.
  const std::int64_t k = std::clamp(diagonal, -height, width);
  View rows_in = in, rows_out = out;
  for (View* view : {&rows_in, &rows_out}) {
    view->shape.pop_back();
    view->strides.pop_back();
  }
  const StridedIterator<2> rows(std::array<View, 2>{rows_in, rows_out});
  const std::int64_t count = width == 0 ? 0 : rows.count();
  const int team_size = threads_to_copy(count * width * static_cast<std::int64_t>(sizeof(U)));
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    run_team(team_size, [&](Team team) {
      rows.each(share(count, team.member, team.size),
                [&](std::int64_t index, const StridedIterator<2>::Offsets& offsets) {
                  const U* x = reinterpret_cast<const U*>(inputs[0].pointer()) + offsets[0];
                  U* y = reinterpret_cast<U*>(outputs[0].pointer()) + offsets[1];
                  const std::int64_t row = index % height;
                  const std::int64_t edge = std::clamp<std::int64_t>(row + k + (lower ? 1 : 0), 0, width);
                  const std::int64_t begin = lower ? 0 : edge, end = lower ? edge : width;
                  std::fill_n(y, begin, U{});
                  if (stride != 1) {
                    for (std::int64_t j = begin; j < end; ++j) y[j] = x[j * stride];
                  } else if (x != y) {
                    core::copy_bytes(y + begin, x + begin, static_cast<std::size_t>(end - begin) * sizeof(U));
                  }
                  std::fill_n(y + end, width - end, U{});
                });
    });
  });
}

KernelRef prepare_triangle(const core::Step& step) {
  return with_width(step.outputs[0].dtype, [&]<class U>(std::type_identity<U>) { return triangle_kernel<U>(step); });
}

constexpr KernelEntry move_entries[] = {
    {OpId::set_slice, prepare_set_slice, nullptr, any_result},
    {OpId::concat, prepare_concat, nullptr, any_result},
    {OpId::tile, prepare_tile, nullptr, any_result},
    {OpId::repeat, prepare_repeat, nullptr, any_result},
    {OpId::roll, prepare_roll, nullptr, any_result},
    {OpId::pad, prepare_pad},
    {OpId::diag_embed, prepare_diag_embed},
    {OpId::tril, prepare_triangle},
    {OpId::triu, prepare_triangle},
};

}  // namespace

std::span<const KernelEntry> move_kernels() { return move_entries; }

}  // namespace tyto::cpu
