// SPDX-License-Identifier: MIT
// Writing at positions given by tensors of indices. Every index is checked before anything is written.
#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/arithmetic/narrow_float.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/moves/positions.hpp"
#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;
using core::View;

template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_floating_point_v<Compute<T>>) {
    return StoreElement<T>::from(load_element(a) + load_element(b));
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}

struct Assign {
  template <class T>
  static void apply(T& target, T value) {
    target = value;
  }
};
struct Accumulate {
  template <class T>
  static void apply(T& target, T value) {
    target = sum_of(target, value);
  }
};
struct Multiply {
  template <class T>
  static void apply(T& target, T value) {
    if constexpr (std::is_floating_point_v<Compute<T>>) {
      target = StoreElement<T>::from(load_element(target) * load_element(value));
    } else {
      target = static_cast<T>(static_cast<std::uint64_t>(target) * static_cast<std::uint64_t>(value));
    }
  }
};
// The first comparison lets the other, or a NaN of either, stand. What stays is written again, so that loops over rows
// become vectors.
struct TakeSmaller {
  template <class T>
  static void apply(T& target, T value) {
    const auto held = load_element(target), given = load_element(value);
    target = ((given < held) | (given != given)) ? value : target;
  }
};
struct TakeLarger {
  template <class T>
  static void apply(T& target, T value) {
    const auto held = load_element(target), given = load_element(value);
    target = ((given > held) | (given != given)) ? value : target;
  }
};
struct AccumulateTruth {
  static void apply(std::uint8_t& target, std::uint8_t value) { target = static_cast<std::uint8_t>(target | value); }
};

/// A scatter whatever it does to elements: of each type and way of writing, only the loop over the elements is
/// compiled.
struct Scatter {
  Positions positions;
  StridedIterator<1> values;  // the first element given for each position
  StridedIterator<2> inner;   // what is given for one position, and where it goes
  bool run = false;           // what is given lies without gaps, as all results do
  std::int64_t begin = 0;     // of the result
};

/// Writes the inner elements `mine` of all positions, one position after the other.
using ScatterLoop = void (*)(const Scatter&, Addresses inputs, std::byte* result, Range mine);

template <class T, class Write>
void scatter_loop(const Scatter& scatter, Addresses inputs, std::byte* result, Range mine) {
  const T* source = reinterpret_cast<const T*>(inputs[1].pointer());
  T* target = reinterpret_cast<T*>(result) + scatter.begin;
  const Range all{0, scatter.positions.count()};
  if (scatter.run && mine.size() == 1) {
    const auto write = [&, x = source + mine.begin, y = target + mine.begin](Range run, const auto& offset) {
      scatter.values.each(run,
                          [=](std::int64_t position, const auto& at) { Write::apply(y[offset(position)], x[at[0]]); });
    };
    if (!scatter.positions.are_dense()) return scatter.positions.each_run(inputs, all, write);
    return write(all, scatter.positions.dense_offset(inputs));
  }
  scatter.positions.each_run(inputs, all, [&](Range run, const auto& offset) {
    scatter.values.each(run, [=, &scatter](std::int64_t position, const auto& from) {
      const T* x = source + from[0];
      T* y = target + offset(position);
      if (scatter.run) {
        for (std::int64_t i = mine.begin; i < mine.end; ++i) Write::apply(y[i], x[i]);
      } else {
        scatter.inner.each(mine, [&](std::int64_t, const auto& at) { Write::apply(y[at[1]], x[at[0]]); });
      }
    });
  });
}

template <class Write>
ScatterLoop scatter_loop_for(DType dtype) {
  if (dtype == DType::boolean) return scatter_loop<std::uint8_t, Write>;
  return with_element(dtype, []<class T>(std::type_identity<T>) -> ScatterLoop { return scatter_loop<T, Write>; });
}

ScatterLoop scatter_loop_for(OpId op, DType dtype) {
  switch (op) {
    case OpId::scatter:
      return with_width(dtype, []<class U>(std::type_identity<U>) -> ScatterLoop { return scatter_loop<U, Assign>; });
    case OpId::scatter_add:  // the sum of truths is whether either holds
      return dtype == DType::boolean ? scatter_loop<std::uint8_t, AccumulateTruth>
                                     : scatter_loop_for<Accumulate>(dtype);
    case OpId::scatter_multiply: return scatter_loop_for<Multiply>(dtype);
    case OpId::scatter_min: return scatter_loop_for<TakeSmaller>(dtype);
    default: return scatter_loop_for<TakeLarger>(dtype);
  }
}

/// A position: where it writes, its number, and where what it writes begins.
struct Placed {
  std::int64_t to, position, from;
};

/// Positions by where they write, those of one place in their own order.
void put_in_order(const Scatter& scatter, Addresses inputs, std::span<Placed> placed) {
  scatter.positions.each_run(inputs, {0, scatter.positions.count()}, [&](Range run, const auto& offset) {
    scatter.values.each(run, [&](std::int64_t position, const auto& at) {
      placed[static_cast<std::size_t>(position)] = {offset(position), position, at[0]};
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
    T* y = target + first->to;
    if (scatter.run) {
      std::array<float, 256> totals;  // of as many elements at a time, so that rows are read along
      for (std::int64_t begin = mine.begin; begin < mine.end; begin += std::ssize(totals)) {
        const std::int64_t count = std::min(std::ssize(totals), mine.end - begin);
        float* total = totals.data();
        for (std::int64_t i = 0; i < count; ++i) total[i] = load_element(y[begin + i]);
        for (auto each = first; each != end; ++each) {
          const T* x = source + each->from + begin;
          for (std::int64_t i = 0; i < count; ++i) total[i] = Combine()(total[i], load_element(x[i]));
        }
        for (std::int64_t i = 0; i < count; ++i) y[begin + i] = StoreElement<T>::from(total[i]);
      }
    } else {
      scatter.inner.each(mine, [&](std::int64_t, const StridedIterator<2>::Offsets& offsets) {
        float total = load_element(y[offsets[1]]);
        for (auto each = first; each != end; ++each) {
          total = Combine()(total, load_element(source[each->from + offsets[0]]));
        }
        y[offsets[1]] = StoreElement<T>::from(total);
      });
    }
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
  const Scatter scatter{positions, StridedIterator<1>({outer}), StridedIterator<2>({given, written}),
                        core::is_dense(given), out.offset};
  const std::int64_t width = scatter.inner.count(), line = machine::cache_line / element;
  const double nanoseconds = static_cast<double>(positions.count()) * static_cast<double>(width) * 0.4;
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
  return make_kernel([=, loop = scatter_loop_for(step.op, dtype)](Addresses inputs, Addresses outputs, core::Address) {
    scatter.positions.check(inputs);
    run_beside_copy(inputs, outputs, [&](Range mine) { loop(scatter, inputs, outputs[0].pointer(), mine); });
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
