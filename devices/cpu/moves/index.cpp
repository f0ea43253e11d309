// Reading and writing at positions given by tensors of indices. Every index is checked before anything is written.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "core/value/copy_bytes.hpp"
#include "core/value/index_messages.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/arithmetic/narrow_float.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/moves/strided_copy.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;
using core::View;
using KernelRef = std::shared_ptr<const core::Kernel>;
using Addresses = std::span<const core::Address>;

/// A tensor of i32 or i64 indices into an axis of `length` elements.
class Indices {
 public:
  Indices(OpId op, std::size_t input, const core::Operand& operand, std::int64_t length)
      : op_(op), input_(input), wide_(operand.dtype == DType::i64), length_(length), iterator_({operand.view}) {
    dense_ = core::is_dense(operand.view);
    start_ = operand.view.offset;
  }

  std::int64_t length() const { return length_; }

  /// The position that the index at `offset` of the tensor means, counted from the front.
  std::int64_t read(Addresses inputs, std::int64_t offset) const {
    const std::int64_t index = raw(inputs, offset);
    return index < 0 ? index + length_ : index;
  }

  /// Calls use with the indices as an array, which only a dense tensor is.
  template <class Use>
  void with_array(Addresses inputs, const Use& use) const {
    const std::byte* memory = inputs[input_].pointer();
    if (wide_) {
      use(reinterpret_cast<const std::int64_t*>(memory) + start_);
    } else {
      use(reinterpret_cast<const std::int32_t*>(memory) + start_);
    }
  }
  bool dense() const { return dense_; }
  /// Where the first index stands in the tensor's memory.
  std::int64_t begin() const { return start_; }

  /// Throws IndexError naming the first index that is outside the axis.
  void check(Addresses inputs) const {
    if (dense_ && all_inside(inputs)) return;
    iterator_.each({0, iterator_.count()}, [&](std::int64_t, const StridedIterator<1>::Offsets& offsets) {
      const std::int64_t index = raw(inputs, offsets[0]);
      if (index < -length_ || index >= length_) {
        throw IndexError(core::message_of_index(core::written_as(op_), index, length_));
      }
    });
  }

 private:
  std::int64_t raw(Addresses inputs, std::int64_t offset) const {
    const std::byte* memory = inputs[input_].pointer();
    return wide_ ? reinterpret_cast<const std::int64_t*>(memory)[offset]
                 : reinterpret_cast<const std::int32_t*>(memory)[offset];
  }

  bool all_inside(Addresses inputs) const {
    int outside = 0;
    with_array(inputs, [&](const auto* indices) {
      for (std::int64_t i = 0; i < iterator_.count(); ++i) outside |= (indices[i] < -length_) | (indices[i] >= length_);
    });
    return outside == 0;
  }

  OpId op_;
  std::size_t input_;
  bool wide_, dense_;
  std::int64_t length_, start_;
  StridedIterator<1> iterator_;
};

/// A view over the axes [begin, end) only.
View axes_of(const View& view, std::size_t begin, std::size_t end) {
  View part{{}, {}, 0};
  for (std::size_t axis = begin; axis < end; ++axis) {
    part.shape.push_back(view.shape[axis]);
    part.strides.push_back(view.strides[axis]);
  }
  return part;
}

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

/// Copies one inner block; single elements and runs, by far the most common, do not go through a StridedCopy.
class InnerBlock {
 public:
  InnerBlock(const View& from, const View& to, std::size_t element)
      : copy_(from, to, element), element_(element), bytes_(static_cast<std::size_t>(copy_.bytes())) {
    run_ = core::is_dense(from) && core::is_dense(to);
  }
  std::int64_t bytes() const { return copy_.bytes(); }

  void operator()(const std::byte* from, std::byte* to) const {
    if (!run_) return copy_.run(from, to);
    if (bytes_ == element_) {
      // Widths known to the compiler become single moves.
      switch (element_) {
        case 1: *to = *from; return;
        case 2: std::memcpy(to, from, 2); return;
        case 4: std::memcpy(to, from, 4); return;
        case 8: std::memcpy(to, from, 8); return;
        default: std::memcpy(to, from, 16); return;
      }
    }
    core::copy_bytes(to, from, bytes_);
  }

 private:
  StridedCopy copy_;
  std::size_t element_, bytes_;
  bool run_;
};

constexpr std::int64_t few_places = 16;

// Single elements along the last axis, by a dense tensor of indices: nothing but loads, so that many are under way.
template <class U>
KernelRef take_elements(const core::Step& step, const Indices& indices) {
  const View& x = step.inputs[0].view;
  const std::size_t axis = x.shape.size() - 1;
  View lines = axes_of(x, 0, axis);
  lines.offset = x.offset;
  const StridedIterator<1> outer({lines});
  const std::int64_t chosen = step.inputs[1].view.count(), total = chosen * outer.count();
  const std::int64_t stride = x.strides[axis], length = indices.length(), begin = step.outputs[0].view.offset;
  const int team_size = threads_for(static_cast<double>(total) * 2);
  // A few elements of each line: their places are read once, and lines follow one another without a division.
  if (chosen <= few_places) {
    return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
      indices.check(inputs);
      const U* source = reinterpret_cast<const U*>(inputs[0].pointer());
      U* target = reinterpret_cast<U*>(outputs[0].pointer()) + begin;
      std::array<std::int64_t, few_places> places;
      for (std::int64_t i = 0; i < chosen; ++i) {
        places[static_cast<std::size_t>(i)] = indices.read(inputs, indices.begin() + i) * stride;
      }
      run_team(team_size, [&](Team team) {
        outer.each(share(outer.count(), team.member, team.size, 64),
                   [&](std::int64_t line, const StridedIterator<1>::Offsets& at) {
                     for (std::int64_t i = 0; i < chosen; ++i) {
                       target[line * chosen + i] = source[at[0] + places[static_cast<std::size_t>(i)]];
                     }
                   });
      });
    });
  }
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    indices.check(inputs);
    const U* source = reinterpret_cast<const U*>(inputs[0].pointer());
    U* target = reinterpret_cast<U*>(outputs[0].pointer()) + begin;
    run_team(team_size, [&](Team team) {
      const Range mine = share(total, team.member, team.size, 64);
      indices.with_array(inputs, [&](const auto* array) {
        for (std::int64_t at = mine.begin; at < mine.end;) {
          const U* line = source + outer.at(at / chosen)[0];
          std::int64_t i = at % chosen;
          for (const std::int64_t end = std::min(chosen, i + mine.end - at); i < end; ++i, ++at) {
            const std::int64_t index = array[i];
            target[at] = line[(index < 0 ? index + length : index) * stride];
          }
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
  if (axis + 1 == x.shape.size() && indices.dense()) {
    return with_width(step.outputs[0].dtype,
                      [&]<class U>(std::type_identity<U>) { return take_elements<U>(step, indices); });
  }

  View from = joined(axes_of(x, 0, axis), repeated(step.inputs[1].view.shape));
  View index = joined(repeated(axes_of(x, 0, axis).shape), axes_of(step.inputs[1].view, 0, index_rank));
  View to = axes_of(out, 0, axis + index_rank);
  from.offset = x.offset;
  index.offset = step.inputs[1].view.offset;
  to.offset = out.offset;
  const StridedIterator<3> iterator({from, index, to});
  const InnerBlock inner(axes_of(x, axis + 1, x.shape.size()), axes_of(out, axis + index_rank, out.shape.size()), size);
  const std::int64_t stride = x.strides[axis], element = static_cast<std::int64_t>(size);
  const std::int64_t count = inner.bytes() == 0 ? 0 : iterator.count();
  const int team_size = threads_for(static_cast<double>(count) * (3.0 + static_cast<double>(inner.bytes()) / 10));
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    indices.check(inputs);
    const std::byte* source = inputs[0].pointer();
    std::byte* target = outputs[0].pointer();
    run_team(team_size, [&](Team team) {
      iterator.each(share(count, team.member, team.size), [&](std::int64_t, const StridedIterator<3>::Offsets& at) {
        inner(source + (at[0] + indices.read(inputs, at[1]) * stride) * element, target + at[2] * element);
      });
    });
  });
}

KernelRef prepare_take_along_axis(const core::Step& step) {
  View from = step.inputs[0].view, index = step.inputs[1].view;
  const View& out = step.outputs[0].view;
  const auto axis = static_cast<std::size_t>(std::get<core::AxisAttributes>(*step.attributes).axis);
  const Indices indices(step.op, 1, step.inputs[1], from.shape[axis]);
  const std::int64_t stride = from.strides[axis];
  from.shape[axis] = 1;
  from = core::broadcast_to(from, out.shape);
  index = core::broadcast_to(index, out.shape);
  const StridedIterator<3> iterator({from, index, out});
  const int team_size = threads_for(static_cast<double>(iterator.count()) * 2);
  return with_width(step.outputs[0].dtype, [&]<class U>(std::type_identity<U>) -> KernelRef {
    return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
      indices.check(inputs);
      const U* source = reinterpret_cast<const U*>(inputs[0].pointer());
      U* target = reinterpret_cast<U*>(outputs[0].pointer());
      run_team(team_size, [&](Team team) {
        iterator.each(share(iterator.count(), team.member, team.size),
                      [&](std::int64_t, const StridedIterator<3>::Offsets& at) {
                        target[at[2]] = source[at[0] + indices.read(inputs, at[1]) * stride];
                      });
      });
    });
  });
}

/// The index tensors of gather and scatter: one for each of the first axes of what they index.
class Positions {
 public:
  Positions(const core::Step& step, std::size_t first_input, const View& indexed) {
    for (std::size_t i = first_input; i < step.inputs.size(); ++i) {
      const std::size_t axis = i - first_input;
      tensors_.emplace_back(step.op, i, step.inputs[i], indexed.shape[axis]);
      iterators_.emplace_back(std::array<View, 1>{step.inputs[i].view});
      strides_.push_back(indexed.strides[axis]);
    }
    count_ = step.inputs[first_input].view.count();
  }

  std::size_t axes() const { return tensors_.size(); }
  std::int64_t count() const { return count_; }
  void check(Addresses inputs) const {
    for (const Indices& indices : tensors_) indices.check(inputs);
  }
  /// Elements from the start of the indexed tensor to what position number `position` names.
  std::int64_t offset(Addresses inputs, std::int64_t position) const {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < tensors_.size(); ++axis) {
      offset += tensors_[axis].read(inputs, iterators_[axis].at(position)[0]) * strides_[axis];
    }
    return offset;
  }

 private:
  std::vector<Indices> tensors_;
  std::vector<StridedIterator<1>> iterators_;
  std::vector<std::int64_t> strides_;
  std::int64_t count_ = 0;
};

KernelRef prepare_gather(const core::Step& step) {
  const View& x = step.inputs[0].view;
  const View& out = step.outputs[0].view;
  const Positions positions(step, 1, x);
  const std::size_t index_rank = step.inputs[1].view.shape.size();
  const auto size = size_of(step.outputs[0].dtype);
  const InnerBlock inner(axes_of(x, positions.axes(), x.shape.size()), axes_of(out, index_rank, out.shape.size()),
                         size);
  const std::int64_t element = static_cast<std::int64_t>(size), block = inner.bytes();
  const std::int64_t count = block == 0 ? 0 : positions.count(), begin = x.offset, out_begin = out.offset;
  const int team_size = threads_for(static_cast<double>(count) * (5.0 + static_cast<double>(block) / 10));
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    positions.check(inputs);
    const std::byte* source = inputs[0].pointer() + begin * element;
    std::byte* target = outputs[0].pointer() + out_begin * element;
    run_team(team_size, [&](Team team) {
      const Range mine = share(count, team.member, team.size);
      for (std::int64_t i = mine.begin; i < mine.end; ++i) {
        inner(source + positions.offset(inputs, i) * element, target + i * block);
      }
    });
  });
}

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
// The first comparison lets the other, or a NaN of either, stand.
struct TakeSmaller {
  template <class T>
  static void apply(T& target, T value) {
    const auto held = load_element(target), given = load_element(value);
    if (given < held || given != given) target = value;
  }
};
struct TakeLarger {
  template <class T>
  static void apply(T& target, T value) {
    const auto held = load_element(target), given = load_element(value);
    if (given > held || given != given) target = value;
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
  scatter.values.each({0, scatter.positions.count()},
                      [&](std::int64_t position, const StridedIterator<1>::Offsets& at) {
                        const T* x = source + at[0];
                        T* y = target + scatter.positions.offset(inputs, position);
                        if (scatter.run) {
                          for (std::int64_t i = mine.begin; i < mine.end; ++i) Write::apply(y[i], x[i]);
                        } else {
                          scatter.inner.each(mine, [&](std::int64_t, const StridedIterator<2>::Offsets& offsets) {
                            Write::apply(y[offsets[1]], x[offsets[0]]);
                          });
                        }
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
  scatter.values.each({0, scatter.positions.count()}, [&](std::int64_t position, const auto& at) {
    placed[static_cast<std::size_t>(position)] = {scatter.positions.offset(inputs, position), position, at[0]};
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
    const auto write = [&](std::int64_t from, T& held) {
      float total = load_element(held);
      for (auto each = first; each != end; ++each) total = Combine()(total, load_element(source[each->from + from]));
      held = StoreElement<T>::from(total);
    };
    T* y = target + first->to;
    if (scatter.run) {
      for (std::int64_t i = mine.begin; i < mine.end; ++i) write(i, y[i]);
    } else {
      scatter.inner.each(
          mine, [&](std::int64_t, const StridedIterator<2>::Offsets& offsets) { write(offsets[0], y[offsets[1]]); });
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
  const std::int64_t width = scatter.inner.count(), cache_line = 64 / element;
  const double nanoseconds = static_cast<double>(positions.count()) * static_cast<double>(width) * 0.4;
  const int team_size = std::max(threads_to_move(copy.bytes()), width < 4 * cache_line ? 1 : threads_for(nanoseconds));
  const auto run_beside_copy = [=](Addresses inputs, Addresses outputs, const auto& loop) {
    run_team(team_size, [&](Team team) {
      copy.run(inputs, outputs[0].pointer(), team);
      team.barrier();
      const Range mine = share(width, team.member, team.size, cache_line);
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

constexpr KernelEntry index_entries[] = {
    {OpId::take, prepare_take},           {OpId::take_along_axis, prepare_take_along_axis},
    {OpId::gather, prepare_gather},       {OpId::scatter, prepare_scatter},
    {OpId::scatter_add, prepare_scatter}, {OpId::scatter_multiply, prepare_scatter},
    {OpId::scatter_min, prepare_scatter}, {OpId::scatter_max, prepare_scatter}};

}  // namespace

std::span<const KernelEntry> index_kernels() { return index_entries; }

}  // namespace tyto::cpu
