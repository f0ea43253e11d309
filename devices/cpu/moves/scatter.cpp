// SPDX-License-Identifier: MIT
// Writing at positions given by tensors of indices. Every index is checked before anything is written.
#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/arithmetic/independent_loop.hpp"
#include "devices/cpu/arithmetic/narrow_float.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/moves/positions.hpp"
#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;
using core::View;

struct Assign {
  template <class T>
  T operator()(T, T given) const {
    return given;
  }
};
struct Multiply {
  template <class T>
  T operator()(T held, T given) const {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(std::uint64_t{held} * given);  // u16 would become int
    else return held * given;
  }
};
// The first comparison keeps the other element, or a NaN of either. An element that stays is written again, so that
// loops over rows vectorise.
template <class Comes>
struct Take {
  using Order = Comes;
  template <class T>
  T operator()(T held, T given) const {
    const auto old = load_element(held), other = load_element(given);
    return (Comes()(other, old) | (other != other)) ? given : held;
  }
};

/// A scatter whatever it does to elements: of each type and way of writing, only the loop over the elements is
/// compiled.
struct Scatter {
  Positions positions;
  StridedIterator<1> values;  // the first element given for each position
  StridedIterator<2> inner;   // what is given for one position, and where it goes
  std::int64_t begin = 0;     // of the result
  std::int64_t element = 0;   // bytes
};

/// Rows of elements that are written one after the other, and where to. Those given begin `step` elements apart or
/// where `starts` says, and their own elements lie `along` apart.
struct Rows {
  IndexRun places;
  std::int64_t count = 0, width = 0;
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  const std::int64_t* starts = nullptr;
  std::int64_t step = 0, along = 0;
};
using RowsLoop = void (*)(const Rows& rows);

template <class T, class Write>
void write_rows(const Rows& all) {
  const Rows rows = all;  // which nothing that is written is part of
  const T* const x = reinterpret_cast<const T*>(rows.source);
  T* const y = reinterpret_cast<T*>(rows.target);
  const auto start = [&](std::int64_t i) { return rows.starts == nullptr ? i * rows.step : rows.starts[i]; };
  const auto write = [](T& to, T given) { to = static_cast<T>(Write()(to, given)); };
  if (rows.width == 1) {
    // Without the choice of a start in it, GCC makes comparisons branches, which takes longer, and all else shorter.
    if (requires { typename Write::Order; } || rows.starts != nullptr) {
      for (std::int64_t i = 0; i < rows.count; ++i) write(y[rows.places.offset(i)], x[start(i)]);
      return;
    }
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < rows.count; ++i) write(y[rows.places.offset(i)], x[i * rows.step]);
    return;
  }
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const T* const from = x + start(i);
    T* const to = y + rows.places.offset(i);
    TYTO_INDEPENDENT
    for (std::int64_t j = 0; j < rows.width; ++j) write(to[j], from[j * rows.along]);
  }
}

/// Writes the inner elements `mine` of all positions.
void scatter_by(RowsLoop loop, const Scatter& scatter, Addresses inputs, std::byte* result, Range mine) {
  scatter.positions.each_run(inputs, {0, scatter.positions.count()}, [&](Range run, const IndexRun& places) {
    std::array<std::int64_t, Positions::run_length> starts;
    Rows rows{.places = places, .count = run.size()};
    std::int64_t first = 0;
    scatter.values.each_row(run, [&](Range row, const auto& at, const auto& steps) {
      if (row.size() == run.size()) {
        first = at[0];
        rows.step = steps[0];
        return;
      }
      rows.starts = starts.data();
      for (std::int64_t i = row.begin; i < row.end; ++i) {
        starts[static_cast<std::size_t>(i - run.begin)] = at[0] + (i - row.begin) * steps[0];
      }
    });
    scatter.inner.each_row(mine, [&](Range row, const auto& at, const auto& steps) {
      rows.source = inputs[1].pointer() + (first + at[0]) * scatter.element;
      rows.target = result + (scatter.begin + at[1]) * scatter.element;
      rows.width = row.size();
      rows.along = steps[0];
      loop(rows);
    });
  });
}

template <class Write>
RowsLoop compared(DType dtype) {
  return with_element(dtype, []<class T>(std::type_identity<T>) -> RowsLoop { return write_rows<T, Write>; });
}
// Integers wrap round by the same bits with a sign or without, and those of half precision are combined in f32.
template <class Write>
RowsLoop computed(DType dtype) {
  if (dtype == DType::f32) return write_rows<float, Write>;
  if (dtype == DType::f64) return write_rows<double, Write>;
  return with_width(dtype, []<class U>(std::type_identity<U>) -> RowsLoop {
    if constexpr (std::is_integral_v<U>) return write_rows<U, Write>;
    return nullptr;
  });
}

RowsLoop rows_loop_for(OpId op, DType dtype) {
  switch (op) {
    case OpId::scatter:
      return with_width(dtype, []<class U>(std::type_identity<U>) -> RowsLoop { return write_rows<U, Assign>; });
    case OpId::scatter_add:  // the sum of truths is whether either holds
      return dtype == DType::boolean ? write_rows<std::uint8_t, std::bit_or<>> : computed<std::plus<>>(dtype);
    case OpId::scatter_multiply: return computed<Multiply>(dtype);
    case OpId::scatter_min: return compared<Take<std::less<>>>(dtype);
    default: return compared<Take<std::greater<>>>(dtype);
  }
}

/// A position: where it writes, its number, and where what it writes begins.
struct Placed {
  std::int64_t to, position, from;
};

/// Positions by where they write, those of one place in their own order.
void put_in_order(const Scatter& scatter, Addresses inputs, std::span<Placed> placed) {
  scatter.positions.each_run(inputs, {0, scatter.positions.count()}, [&](Range run, const IndexRun& indices) {
    scatter.values.each(run, [&](std::int64_t position, const auto& at) {
      placed[static_cast<std::size_t>(position)] = {indices.offset(position - run.begin), position, at[0]};
    });
  });
  std::sort(placed.begin(), placed.end(),
            [](const Placed& a, const Placed& b) { return a.to != b.to ? a.to < b.to : a.position < b.position; });
}

/// Writes the inner elements `mine` place by place. All that goes to a place is combined in f32 and rounded once, as a
/// sum of many rows would soon stand still in f16.
using WideScatterLoop = void (*)(const Scatter&, Addresses inputs, std::byte* result, Range mine,
                                 std::span<const Placed> placed);

template <class T, class Combine>
void wide_scatter_loop(const Scatter& scatter, Addresses inputs, std::byte* result, Range mine,
                       std::span<const Placed> placed) {
  const T* source = reinterpret_cast<const T*>(inputs[1].pointer());
  T* target = reinterpret_cast<T*>(result) + scatter.begin;
  for (auto first = placed.begin(); first != placed.end();) {
    const auto end = std::find_if(first, placed.end(), [&](const Placed& each) { return each.to != first->to; });
    scatter.inner.each_row(mine, [&](Range row, const auto& at, const auto& steps) {
      std::array<float, 256> totals;  // of as many elements at a time, so that rows are read along
      for (std::int64_t begin = 0; begin < row.size(); begin += std::ssize(totals)) {
        const std::int64_t count = std::min(std::ssize(totals), row.size() - begin), along = steps[0];
        T* const y = target + first->to + at[1] + begin;
        float* const total = totals.data();
        for (std::int64_t i = 0; i < count; ++i) total[i] = load_element(y[i]);
        for (auto each = first; each != end; ++each) {
          const T* const x = source + each->from + at[0] + begin * along;
          for (std::int64_t i = 0; i < count; ++i) total[i] = Combine()(total[i], load_element(x[i * along]));
        }
        for (std::int64_t i = 0; i < count; ++i) y[i] = StoreElement<T>::from(total[i]);
      }
    });
    first = end;
  }
}

template <class T>
WideScatterLoop wide_scatter_loop_for(OpId op) {
  if (op == OpId::scatter_add) return wide_scatter_loop<T, std::plus<>>;
  return op == OpId::scatter_multiply ? wide_scatter_loop<T, std::multiplies<>> : nullptr;
}
/// Nothing where elements are not of half precision, or are not combined by arithmetic.
WideScatterLoop wide_scatter_loop_for(OpId op, DType dtype) {
  if (dtype == DType::f16) return wide_scatter_loop_for<Half>(op);
  return dtype == DType::bf16 ? wide_scatter_loop_for<BFloat16>(op) : nullptr;
}

// Positions are written one after the other, so that the last wins and sums have one order; threads share the inner
// elements instead.
KernelRef prepare_scatter(const core::Step& step) {
  const View& out = step.outputs[0].view;
  const View& v = step.inputs[1].view;
  const DType dtype = step.outputs[0].dtype;
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  const std::size_t index_rank = step.inputs[2].view.shape.size();
  const Positions positions(step, 2, out);
  CopyList copy;
  copy.add(0, step.inputs[0].view, out, size_of(dtype));
  View outer = axes_of(v, 0, index_rank);
  outer.offset = v.offset;
  const View given = axes_of(v, index_rank, v.shape.size()), written = axes_of(out, positions.axes(), out.shape.size());
  const Scatter scatter{positions, StridedIterator<1>({outer}), StridedIterator<2>({given, written}), out.offset,
                        element};
  const std::int64_t width = scatter.inner.count(), line = machine::cache_line / element;
  const double nanoseconds =
      static_cast<double>(positions.count()) * static_cast<double>(width) * machine::written_element;
  const int team_size = std::max(threads_to_copy(copy.bytes()), width < 4 * line ? 1 : threads_for(nanoseconds));
  const auto run_beside_copy = [=](Addresses inputs, Addresses outputs, const auto& loop) {
    run_team(team_size, [&](Team team) {
      copy.run(inputs, outputs[0].pointer(), team);
      team.barrier();
      const Range mine = share(width, team.member, team.size, line);
      if (mine.size() != 0) loop(mine);
    });
  };
  if (const WideScatterLoop wide = wide_scatter_loop_for(step.op, dtype)) {
    const auto count = static_cast<std::size_t>(positions.count());
    const auto launch = [=](Addresses inputs, Addresses outputs, core::Address workspace) {
      scatter.positions.check(inputs);
      const std::span placed(reinterpret_cast<Placed*>(workspace.pointer()), count);
      put_in_order(scatter, inputs, placed);
      run_beside_copy(inputs, outputs, [&](Range mine) { wide(scatter, inputs, outputs[0].pointer(), mine, placed); });
    };
    return make_kernel(launch, count * sizeof(Placed));
  }
  return make_kernel([=, loop = rows_loop_for(step.op, dtype)](Addresses inputs, Addresses outputs, core::Address) {
    scatter.positions.check(inputs);
    run_beside_copy(inputs, outputs,
                    [&](Range mine) { scatter_by(loop, scatter, inputs, outputs[0].pointer(), mine); });
  });
}

constexpr KernelEntry scatter_entries[] = {{OpId::scatter, prepare_scatter},
                                           {OpId::scatter_add, prepare_scatter},
                                           {OpId::scatter_multiply, prepare_scatter},
                                           {OpId::scatter_min, prepare_scatter},
                                           {OpId::scatter_max, prepare_scatter}};

}  // namespace

std::span<const KernelEntry> scatter_kernels() { return scatter_entries; }

}  // namespace tyto::cpu
