// SPDX-License-Identifier: MIT
// Reading at positions given by tensors of indices. Every index is checked before anything is read.
#include <cstring>
#include <span>

#include "core/graph/op_ids.hpp"
#include "core/value/copy_bytes.hpp"
#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/moves/positions.hpp"
#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;
using core::View;

/// The same indices, positions and inner elements, with the index tensor's own strides.
View joined(const View& a, const View& b) {
  View out = a;
  for (std::size_t axis = 0; axis < b.shape.size(); ++axis) {
    out.shape.push_back(b.shape[axis]);
    out.strides.push_back(b.strides[axis]);
  }
  return out;
}

View repeated(const Shape& shape) { return {shape, Strides(shape.size(), 0), 0}; }

/// Copies inner blocks; single elements, pixels and runs, by far the most common, do not go through a StridedCopy. Held
/// by value, since what is written might be part of anything else, for all that the compiler knows.
struct BlockCopy {
  const StridedCopy* strided;  // null for runs
  std::size_t bytes;
  explicit BlockCopy(const StridedCopy& copy)
      : strided(copy.is_run() ? nullptr : &copy), bytes(static_cast<std::size_t>(copy.bytes())) {}
  void operator()(const std::byte* from, std::byte* to) const {
    if (strided != nullptr) return strided->run(from, to);
    if (bytes > 128) return core::copy_bytes(to, from, bytes);
    if (bytes >= 16) return copy_parts<16>(from, to);
    if (bytes >= 8) return copy_parts<8>(from, to);
    return bytes >= 4 ? copy_parts<4>(from, to) : copy_parts<1>(from, to);
  }
  // Parts of a width known to the compiler are single moves; the last two may overlap.
  template <std::size_t width>
  void copy_parts(const std::byte* from, std::byte* to) const {
    for (std::size_t i = 0; i < bytes - width; i += width) std::memcpy(to + i, from + i, width);
    std::memcpy(to + bytes - width, from + bytes - width, width);
  }
};

// Single elements, each by an index: nothing but loads, so that many are under way. The views are of what is read at
// index 0, the indices and the result.
KernelRef take_elements(const core::Step& step, const Indices& indices, const std::array<View, 3>& views,
                        std::int64_t stride) {
  const StridedIterator<3> iterator(views);
  const int team_size = threads_for(static_cast<double>(iterator.count()) * machine::indexed_element);
  return with_width(step.outputs[0].dtype, [&]<class U>(std::type_identity<U>) -> KernelRef {
    return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
      indices.check(inputs);
      const U* source = reinterpret_cast<const U*>(inputs[0].pointer());
      U* target = reinterpret_cast<U*>(outputs[0].pointer());
      run_team(team_size, [&](Team team) {
        indices.with_memory(inputs, [&](const auto* memory) {
          iterator.each_row(share(iterator.count(), team.member, team.size, 64),
                            [=, length = indices.length()](Range row, const auto& at, const auto& steps) {
                              const U* const x = source + at[0];
                              const auto* const chosen = memory + at[1];
                              U* const y = target + at[2];
                              for (std::int64_t i = 0; i < row.size(); ++i) {
                                std::int64_t index = chosen[i * steps[1]];
                                if (index < 0) [[unlikely]]
                                  index += length;
                                y[i * steps[2]] = x[i * steps[0] + index * stride];
                              }
                            });
        });
      });
    });
  });
}

constexpr std::int64_t few_places = 16;

// A few elements of each line: their places are read once, and lines follow one another without a division. By
// take_elements, 3 to 16 of each of 1,000 lines take 1.5 to 1.9 times as long.
template <class U>
KernelRef take_few(const core::Step& step, const Indices& indices, const View& lines, std::int64_t stride) {
  const StridedIterator<1> outer({lines});
  const std::int64_t chosen = step.inputs[1].view.count(), begin = step.outputs[0].view.offset;
  const int team_size = threads_for(static_cast<double>(chosen * outer.count()) * machine::indexed_element);
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    indices.check(inputs);
    const U* source = reinterpret_cast<const U*>(inputs[0].pointer());
    U* target = reinterpret_cast<U*>(outputs[0].pointer()) + begin;
    std::array<std::int64_t, few_places> places;
    indices.write_offsets<false>(inputs, {0, chosen}, stride, places.data());
    run_team(team_size, [&](Team team) {
      outer.each(share(outer.count(), team.member, team.size, 64), [&](std::int64_t line, const auto& at) {
        for (std::int64_t i = 0; i < chosen; ++i) {
          target[line * chosen + i] = source[at[0] + places[static_cast<std::size_t>(i)]];
        }
      });
    });
  });
}

// Visits outer positions x index positions; both take's axes before `axis` and gather without any are this.
KernelRef prepare_take(const core::Step& step) {
  const View& x = step.inputs[0].view;
  const View& out = step.outputs[0].view;
  const auto axis = static_cast<std::size_t>(std::get<core::AxisAttributes>(*step.attributes).axis);
  const std::size_t index_rank = step.inputs[1].view.shape.size();
  const auto size = size_of(step.outputs[0].dtype);
  const Indices indices(step.op, 1, step.inputs[1], x.shape[axis]);
  View from = joined(axes_of(x, 0, axis), repeated(step.inputs[1].view.shape));
  View index = joined(repeated(axes_of(x, 0, axis).shape), axes_of(step.inputs[1].view, 0, index_rank));
  View to = axes_of(out, 0, axis + index_rank);
  from.offset = x.offset;
  index.offset = step.inputs[1].view.offset;
  to.offset = out.offset;
  const std::int64_t stride = x.strides[axis], element = static_cast<std::int64_t>(size);
  const View block = axes_of(x, axis + 1, x.shape.size());
  if (block.count() == 1) {
    if (step.inputs[1].view.count() > few_places) return take_elements(step, indices, {from, index, to}, stride);
    View lines = axes_of(x, 0, axis);
    lines.offset = x.offset;
    return with_width(step.outputs[0].dtype,
                      [&]<class U>(std::type_identity<U>) { return take_few<U>(step, indices, lines, stride); });
  }
  const StridedIterator<3> iterator({from, index, to});
  const StridedCopy inner(block, axes_of(out, axis + index_rank, out.shape.size()), size);
  const std::int64_t count = inner.bytes() == 0 ? 0 : iterator.count();
  const int team_size = threads_for(machine::indexed_row * static_cast<double>(count) +
                                    machine::nanoseconds_to_move(2 * static_cast<double>(count * inner.bytes())));
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    indices.check(inputs);
    const std::byte* source = inputs[0].pointer();
    std::byte* target = outputs[0].pointer();
    run_team(team_size, [&](Team team) {
      indices.with_memory(inputs,
                          [=, &iterator, copy = BlockCopy(inner), length = indices.length()](const auto* memory) {
                            iterator.each(share(count, team.member, team.size), [=](std::int64_t, const auto& at) {
                              const std::int64_t taken = counted_from_front(memory[at[1]], length);
                              copy(source + (at[0] + taken * stride) * element, target + at[2] * element);
                            });
                          });
    });
  });
}

KernelRef prepare_take_along_axis(const core::Step& step) {
  View from = step.inputs[0].view;
  const View& index = step.inputs[1].view;
  const View& out = step.outputs[0].view;
  const auto axis = static_cast<std::size_t>(std::get<core::AxisAttributes>(*step.attributes).axis);
  const Indices indices(step.op, 1, step.inputs[1], from.shape[axis]);
  const std::int64_t stride = from.strides[axis];
  from.shape[axis] = 1;
  return take_elements(step, indices, {core::broadcast_to(from, out.shape), core::broadcast_to(index, out.shape), out},
                       stride);
}

KernelRef prepare_gather(const core::Step& step) {
  const View& x = step.inputs[0].view;
  const View& out = step.outputs[0].view;
  const Positions positions(step, 1, x);
  const std::size_t index_rank = step.inputs[1].view.shape.size();
  const auto size = size_of(step.outputs[0].dtype);
  const StridedCopy inner(axes_of(x, positions.axes(), x.shape.size()), axes_of(out, index_rank, out.shape.size()),
                          size);
  const std::int64_t element = static_cast<std::int64_t>(size), block = inner.bytes();
  const std::int64_t count = block == 0 ? 0 : positions.count(), begin = x.offset, out_begin = out.offset;
  const int team_size =
      threads_for(machine::gathered_row * static_cast<double>(count) +
                  machine::nanoseconds_to_move(2 * static_cast<double>(count) * static_cast<double>(block)));
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    positions.check(inputs);
    const std::byte* source = inputs[0].pointer() + begin * element;
    std::byte* target = outputs[0].pointer() + out_begin * element;
    run_team(team_size, [&](Team team) {
      const auto copy_run = [=, copy = BlockCopy(inner)](Range run, const IndexRun& indices) {
        for (std::int64_t i = 0; i < run.size(); ++i) {
          copy(source + indices.offset(i) * element, target + (run.begin + i) * block);
        }
      };
      positions.each_run(inputs, share(count, team.member, team.size), copy_run);
    });
  });
}

constexpr KernelEntry gather_entries[] = {
    {OpId::take, prepare_take}, {OpId::take_along_axis, prepare_take_along_axis}, {OpId::gather, prepare_gather}};

}  // namespace

std::span<const KernelEntry> gather_kernels() { return gather_entries; }

}  // namespace tyto::cpu
