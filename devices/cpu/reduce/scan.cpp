// SPDX-License-Identifier: MIT
// Running sums, products, minima and maxima along an axis.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/arithmetic/half_precision.hpp"
#include "devices/cpu/arithmetic/independent_loop.hpp"
#include "devices/cpu/arithmetic/narrow_float.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/moves/strided_iterator.hpp"
#include "devices/cpu/reduce/extremes.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;

/// Columns scanned together: their running values stay in L1.
constexpr std::int64_t scan_columns = 1024;

/// Lines scanned side by side, so that one need not wait for another's additions. More would meet in the same cache set
/// when lines are a power of two long.
constexpr std::int64_t lines_together = 4;

/// Lines so short are all scanned step by step, as columns are: to begin with a few would take longer than to scan
/// them.
constexpr std::int64_t shortest_line = 8;

template <class T>
constexpr bool is_float = std::is_floating_point_v<Compute<T>>;

// Running values are kept wider than the elements, so that a long sum loses no more than its last rounding. Integers
// wrap, which unsigned arithmetic defines.
template <class T>
using Running = std::conditional_t<is_float<T>, double, std::uint64_t>;

template <bool product>
struct Accumulation {
  template <class T>
  using Carry = Running<T>;
  template <class T>
  static Carry<T> identity() {
    return product ? 1 : 0;
  }
  template <class C>
  static C apply(C carry, C value) {
    return product ? carry * value : carry + value;
  }
};
// A NaN is taken up, and stays because no comparison with it holds.
template <class Order>
struct Extreme {
  template <class T>
  using Carry = Compute<T>;
  template <class T>
  static Carry<T> identity() {
    return Order::template worst<Carry<T>>();
  }
  template <class C>
  static C apply(C carry, C value) {
    return extreme<Order>(carry, value);
  }
};

/// One axis scanned: `count` steps over rows of `width` columns.
struct ScanLoop {
  std::int64_t count;
  std::int64_t width;
  std::int64_t in_step, in_stride;
  std::int64_t out_step, out_stride;
  bool exclusive;
};

template <class To, class Carry>
To stored(Carry carry) {
  if constexpr (is_float<To>) {
    return StoreElement<To>::from(static_cast<Compute<To>>(carry));
  } else {
    return static_cast<To>(carry);
  }
}

template <class Op, class T, class To, class C>
[[gnu::always_inline]] inline void scan_row(const T* x, std::int64_t x_stride, To* y, std::int64_t y_stride,
                                            std::int64_t width, bool exclusive, C* carry) {
  if (exclusive) {
    // The result may lie where the elements do, each on its own; it never runs ahead of them.
    TYTO_INDEPENDENT
    for (std::int64_t j = 0; j < width; ++j) {
      const C before = carry[j];
      carry[j] = Op::apply(before, static_cast<C>(load_element(x[j * x_stride])));
      y[j * y_stride] = stored<To>(before);
    }
  } else {
    TYTO_INDEPENDENT
    for (std::int64_t j = 0; j < width; ++j) {
      carry[j] = Op::apply(carry[j], static_cast<C>(load_element(x[j * x_stride])));
      y[j * y_stride] = stored<To>(carry[j]);
    }
  }
}

/// A line whose elements lie together. Integers may be joined in any order: four at a time, so that only the last of
/// them waits for those before.
template <class Op, bool exclusive, class T, class To, class C>
void scan_dense_line(const T* x, To* y, std::int64_t count, C& carry) {
  C running = carry;
  const auto value = [&](std::int64_t i) { return static_cast<C>(load_element(x[i])); };
  std::int64_t i = 0;
  if constexpr (!is_float<T>) {
    for (; i + 4 <= count; i += 4) {
      const C one = value(i), two = Op::apply(one, value(i + 1)), three = Op::apply(two, value(i + 2)),
              four = Op::apply(three, value(i + 3));
      const C first = Op::apply(running, one), second = Op::apply(running, two), third = Op::apply(running, three),
              fourth = Op::apply(running, four);
      y[i] = stored<To>(exclusive ? running : first);
      y[i + 1] = stored<To>(exclusive ? first : second);
      y[i + 2] = stored<To>(exclusive ? second : third);
      y[i + 3] = stored<To>(exclusive ? third : fourth);
      running = fourth;
    }
  }
  for (; i < count; ++i) {
    const C next = Op::apply(running, value(i));
    y[i] = stored<To>(exclusive ? running : next);
    running = next;
  }
  carry = running;
}

/// Scans on from what each column holds in `carry`.
template <class Op, class T, class To, class C>
[[gnu::always_inline]] inline void scan_on(const T* x, To* y, const ScanLoop& loop, C* carry) {
  // Lines of floats go side by side, since each of their steps waits for the one before; so do short ones.
  constexpr std::int64_t short_line = 32;
  const bool alone = loop.width == 1 || (!is_float<T> && loop.width <= lines_together && loop.count >= short_line);
  if (alone && loop.in_step == 1 && loop.out_step == 1) {
    for (std::int64_t j = 0; j < loop.width; ++j, x += loop.in_stride, y += loop.out_stride) {
      if (loop.exclusive) scan_dense_line<Op, true>(x, y, loop.count, carry[j]);
      else scan_dense_line<Op, false>(x, y, loop.count, carry[j]);
    }
    return;
  }
  if (loop.width == lines_together) {
    C held[lines_together];
    std::copy_n(carry, lines_together, held);
    for (std::int64_t i = 0; i < loop.count; ++i, x += loop.in_step, y += loop.out_step) {
#pragma GCC unroll 4
      for (std::int64_t j = 0; j < lines_together; ++j) {
        const C before = held[j];
        held[j] = Op::apply(before, static_cast<C>(load_element(x[j * loop.in_stride])));
        y[j * loop.out_stride] = stored<To>(loop.exclusive ? before : held[j]);
      }
    }
    std::copy_n(held, lines_together, carry);
    return;
  }
  if (loop.width == 1) {
    C running = *carry;
    for (std::int64_t i = 0; i < loop.count; ++i, x += loop.in_step, y += loop.out_step) {
      // Read before the write: the result may lie where the elements do.
      const C next = Op::apply(running, static_cast<C>(load_element(*x)));
      *y = stored<To>(loop.exclusive ? running : next);
      running = next;
    }
    *carry = running;
    return;
  }
  for (std::int64_t i = 0; i < loop.count; ++i, x += loop.in_step, y += loop.out_step) {
    if (loop.in_stride == 1 && loop.out_stride == 1) {
      scan_row<Op>(x, 1, y, 1, loop.width, loop.exclusive, carry);
    } else {
      scan_row<Op>(x, loop.in_stride, y, loop.out_stride, loop.width, loop.exclusive, carry);
    }
  }
}

/// Few carries are filled by a count that the compiler knows: starting a loop takes as long as scanning a short axis.
template <class C>
[[gnu::always_inline]] inline void fill_carries(C* carry, std::int64_t width, C identity) {
  std::fill_n(carry, lines_together, identity);
  if (width > lines_together) std::fill_n(carry + lines_together, width - lines_together, identity);
}

template <class Op, class T, class To>
void scan(const std::byte* in, std::byte* out, const ScanLoop& loop) {
  typename Op::template Carry<T> carry[scan_columns];
  fill_carries(carry, loop.width, Op::template identity<T>());
  scan_on<Op>(reinterpret_cast<const T*>(in), reinterpret_cast<To*>(out), loop, carry);
}

/// Scans elements of 16 bits in blocks of f32, from and to which vectors convert them.
template <class Op, class T>
void scan_halves(const std::byte* in, std::byte* out, const ScanLoop& loop) {
  constexpr DType type = std::is_same_v<T, Half> ? DType::f16 : DType::bf16;
  typename Op::template Carry<float> carry[scan_columns];
  fill_carries(carry, loop.width, Op::template identity<float>());
  std::array<float, scan_columns> block;
  const bool by_lines = loop.width <= lines_together;  // of a block a line lies together, else the columns of a step
  for (std::int64_t first = 0, most = scan_columns / loop.width; first < loop.count; first += most) {
    const std::int64_t steps = std::min(most, loop.count - first), width = loop.width;
    const std::int64_t runs = by_lines ? width : steps, length = by_lines ? steps : width;
    const ScanLoop part = by_lines ? ScanLoop{steps, width, 1, steps, 1, steps, loop.exclusive}
                                   : ScanLoop{steps, width, width, 1, width, 1, loop.exclusive};
    const T* x = reinterpret_cast<const T*>(in) + first * loop.in_step;
    T* y = reinterpret_cast<T*>(out) + first * loop.out_step;
    for (std::int64_t run = 0; run < runs; ++run, x += by_lines ? loop.in_stride : loop.in_step) {
      widen(type, x, by_lines ? loop.in_step : loop.in_stride, block.data() + run * length, length);
    }
    scan_on<Op>(block.data(), block.data(), part, carry);
    for (std::int64_t run = 0; run < runs; ++run, y += by_lines ? loop.out_stride : loop.out_step) {
      narrow(block.data() + run * length, type, y, by_lines ? loop.out_step : loop.out_stride, length);
    }
  }
}

using ScanFunction = void (*)(const std::byte*, std::byte*, const ScanLoop&);

template <class Op, class T, class To>
ScanFunction scan_by() {
  if constexpr (sizeof(Compute<T>) != sizeof(T)) return scan_halves<Op, T>;
  else return scan<Op, T, To>;
}

template <class T>
ScanFunction scan_function(OpId op) {
  using To = std::conditional_t<is_float<T>, T, std::int64_t>;
  switch (op) {
    case OpId::cumsum: return scan_by<Accumulation<false>, T, To>();
    case OpId::cumprod: return scan_by<Accumulation<true>, T, To>();
    case OpId::cummin: return scan_by<Extreme<Lower>, T, T>();
    case OpId::cummax: return scan_by<Extreme<Higher>, T, T>();
    default: core::refuse_operator("cpu: scans", op);
  }
}

KernelRef prepare_scan(const core::Step& step) {
  const auto& attributes = std::get<core::ScanAttributes>(*step.attributes);
  core::View in = step.inputs[0].view, out = step.outputs[0].view;
  const std::int64_t total = in.count();
  if (total == 0) return make_kernel([](auto, auto, auto) {});
  if (attributes.reverse) {
    const auto axis = static_cast<std::size_t>(attributes.axis);
    for (core::View* view : {&in, &out}) {
      view->offset += (view->shape[axis] - 1) * view->strides[axis];
      view->strides[axis] = -view->strides[axis];
    }
  }
  const auto take_axis = [](core::View& view, std::size_t axis) {
    const std::int64_t stride = view.strides[axis];
    view.shape.erase(axis);
    view.strides.erase(axis);
    return stride;
  };
  const auto axis = static_cast<std::size_t>(attributes.axis);
  ScanLoop loop{in.shape[axis], 1, 0, 0, 0, 0, attributes.exclusive};
  loop.in_step = take_axis(in, axis);
  loop.out_step = take_axis(out, axis);

  // The last axis that is left gives the columns: a few lines side by side where the scanned axis is the one whose
  // elements lie together.
  std::array<core::View, 2> views{in, out};
  core::collapse(views);
  std::int64_t width = 1;
  if (!views[0].shape.empty()) {
    const std::size_t last = views[0].shape.size() - 1;
    width = views[0].shape[last];
    loop.in_stride = take_axis(views[0], last);
    loop.out_stride = take_axis(views[1], last);
  }
  const StridedIterator<2> outer(views);
  const bool are_lines = loop.count > shortest_line && (loop.out_step == 1 || loop.out_step == -1);
  const std::int64_t chunk = are_lines ? lines_together : scan_columns;
  const std::int64_t chunks = (width + chunk - 1) / chunk;
  const int team_size = threads_for(2 * static_cast<double>(total) / machine::scalar_operations);
  const auto in_size = static_cast<std::int64_t>(size_of(step.inputs[0].dtype));
  const auto out_size = static_cast<std::int64_t>(size_of(step.outputs[0].dtype));
  const ScanFunction function =
      with_element(step.inputs[0].dtype, [&]<class T>(std::type_identity<T>) { return scan_function<T>(step.op); });

  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    const std::byte* x = inputs[0].pointer();
    std::byte* y = outputs[0].pointer();
    run_team(team_size, [&](Team team) {
      const Range mine = share(outer.count() * chunks, team.member, team.size);
      for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) {
        const auto offsets = outer.at(unit / chunks);
        const std::int64_t column = unit % chunks * chunk;
        ScanLoop part = loop;
        part.width = std::min(chunk, width - column);
        function(x + (offsets[0] + column * loop.in_stride) * in_size,
                 y + (offsets[1] + column * loop.out_stride) * out_size, part);
      }
    });
  });
}

constexpr KernelEntry scan_entries[] = {{OpId::cumsum, prepare_scan},
                                        {OpId::cumprod, prepare_scan},
                                        {OpId::cummin, prepare_scan},
                                        {OpId::cummax, prepare_scan}};

}  // namespace

std::span<const KernelEntry> scan_kernels() { return scan_entries; }

}  // namespace tyto::cpu
