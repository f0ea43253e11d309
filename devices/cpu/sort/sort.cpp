// sort, argsort and topk along an axis: lines are turned into keys with their indices, ordered, and written out.
#include <algorithm>

#include "devices/cpu/element_dispatch.hpp"
#include "devices/cpu/sort/order_key.hpp"
#include "devices/cpu/sort/radix_sort.hpp"
#include "devices/cpu/sort/sort.hpp"
#include "devices/cpu/strided_iterator.hpp"
#include "devices/cpu/workspace.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;
using KernelRef = std::shared_ptr<const core::Kernel>;
using Addresses = std::span<const core::Address>;

/// What is ordered, and how much of it is wanted.
struct Order {
  std::int64_t axis;
  std::int64_t wanted;  ///< first so many of each line
  bool descending;
  bool partial;  ///< topk: the rest need not be ordered
};

/// A line's axis taken out of a view, and its stride.
std::int64_t take_axis(core::View& view, std::size_t axis) {
  const std::int64_t stride = view.strides[axis];
  view.shape.erase(axis);
  view.strides.erase(axis);
  return stride;
}

template <class Entry>
Entry* order_line(Entry* entries, Entry* other, std::int64_t count, const Order& order) {
  // A heap of few candidates rejects most elements by one comparison each; for many, sorting everything is no slower.
  if (!order.partial || order.wanted > count / 16) {
    return sort_by_key<decltype(entries->index)>(entries, other, count);
  }
  std::partial_sort(entries, entries + order.wanted, entries + count, precedes);
  return entries;
}

template <class T, class Index>
KernelRef sort_kernel(const core::Step& step, const Order& order, int values, int indices) {
  using Key = OrderKey<T>;
  using Entry = KeyedIndex<typename Key::Bits, Index>;
  core::View in = step.inputs[0].view, out = step.outputs[0].view;
  const auto axis = static_cast<std::size_t>(order.axis);
  const std::int64_t count = in.rank() == 0 ? 1 : in.shape[axis];
  const std::int64_t in_stride = in.rank() == 0 ? 1 : take_axis(in, axis);
  const std::int64_t out_stride = out.rank() == 0 ? 1 : take_axis(out, axis);
  const StridedIterator<2> lines(std::array<core::View, 2>{in, out});
  const std::int64_t work = count == 0 || order.wanted == 0 ? 0 : lines.count();
  const int workers = work == 1 ? 1 : threads_for(static_cast<double>(work) * static_cast<double>(count) * 5);

  WorkspaceLayout layout;
  std::size_t stride = 0;
  const auto room = static_cast<std::size_t>(count) * sizeof(Entry);
  layout.reserve_each(2 * static_cast<std::size_t>(std::min<std::int64_t>(workers, work)), room, stride);
  const auto order_lines = [=](Addresses inputs, Addresses outputs, core::Address workspace) {
    const T* x = reinterpret_cast<const T*>(inputs[0].pointer());
    run_team(workers, [&](Team team) {
      const Range mine = share(work, team.member, team.size);
      if (mine.size() == 0) return;
      auto* entries = at<Entry>(workspace.pointer(), 2 * static_cast<std::size_t>(team.member) * stride);
      auto* other = at<Entry>(workspace.pointer(), (2 * static_cast<std::size_t>(team.member) + 1) * stride);
      lines.each(mine, [&](std::int64_t, const StridedIterator<2>::Offsets& offsets) {
        const T* line = x + offsets[0];
        for (std::int64_t i = 0; i < count; ++i) {
          entries[i] = {Key::of(line[i * in_stride], order.descending), static_cast<Index>(i)};
        }
        const Entry* ordered = order_line(entries, other, count, order);
        if (values >= 0) {
          T* y = reinterpret_cast<T*>(outputs[static_cast<std::size_t>(values)].pointer()) + offsets[1];
          for (std::int64_t i = 0; i < order.wanted; ++i) {
            y[i * out_stride] = line[static_cast<std::int64_t>(ordered[i].index) * in_stride];
          }
        }
        if (indices >= 0) {
          auto* y = reinterpret_cast<std::int64_t*>(outputs[static_cast<std::size_t>(indices)].pointer()) + offsets[1];
          for (std::int64_t i = 0; i < order.wanted; ++i)
            y[i * out_stride] = static_cast<std::int64_t>(ordered[i].index);
        }
      });
    });
  };
  return make_kernel(order_lines, layout.bytes());
}

// Zeros of both signs have one key: they are written as they stand in the line, one after the other.
template <class T>
void restore_zeros(const T* line, std::int64_t in_stride, std::int64_t count, KeyBits<T> zero, const KeyBits<T>* sorted,
                   T* out, std::int64_t out_stride) {
  std::int64_t place = std::lower_bound(sorted, sorted + count, zero) - sorted;
  for (std::int64_t i = 0; i < count; ++i) {
    if (OrderKey<T>::of(line[i * in_stride], false) != OrderKey<T>::of(T{}, false)) continue;
    out[place++ * out_stride] = line[i * in_stride];
  }
}

// Values alone: keys are half as wide as pairs, and give the elements back.
template <class T>
KernelRef value_kernel(const core::Step& step, const Order& order) {
  using Key = OrderKey<T>;
  using Bits = typename Key::Bits;
  core::View in = step.inputs[0].view, out = step.outputs[0].view;
  const auto axis = static_cast<std::size_t>(order.axis);
  const std::int64_t count = in.rank() == 0 ? 1 : in.shape[axis];
  const std::int64_t in_stride = in.rank() == 0 ? 1 : take_axis(in, axis);
  const std::int64_t out_stride = out.rank() == 0 ? 1 : take_axis(out, axis);
  const StridedIterator<2> lines(std::array<core::View, 2>{in, out});
  const std::int64_t work = count == 0 ? 0 : lines.count();
  const int workers = work == 1 ? 1 : threads_for(static_cast<double>(work) * static_cast<double>(count) * 5);

  WorkspaceLayout layout;
  std::size_t stride = 0;
  layout.reserve_each(2 * static_cast<std::size_t>(std::min<std::int64_t>(workers, work)),
                      static_cast<std::size_t>(count) * sizeof(Bits), stride);
  const auto sort_lines = [=](Addresses inputs, Addresses outputs, core::Address workspace) {
    const T* x = reinterpret_cast<const T*>(inputs[0].pointer());
    T* y = reinterpret_cast<T*>(outputs[0].pointer());
    const Bits zero = Key::of(T{}, order.descending);
    run_team(workers, [&](Team team) {
      const Range mine = share(work, team.member, team.size);
      if (mine.size() == 0) return;
      auto* keys = at<Bits>(workspace.pointer(), 2 * static_cast<std::size_t>(team.member) * stride);
      auto* other = at<Bits>(workspace.pointer(), (2 * static_cast<std::size_t>(team.member) + 1) * stride);
      lines.each(mine, [&](std::int64_t, const StridedIterator<2>::Offsets& offsets) {
        const T* line = x + offsets[0];
        T* sorted_line = y + offsets[1];
        int negative_zeros = 0;
        for (std::int64_t i = 0; i < count; ++i) {
          const T element = line[i * in_stride];
          keys[i] = Key::of(element, order.descending);
          if constexpr (is_stored_float<T>) negative_zeros |= std::bit_cast<Bits>(element) == Key::sign;
        }
        const Bits* sorted = count > INT64_C(0xffffffff) ? sort_by_key<std::uint64_t>(keys, other, count)
                                                         : sort_by_key<std::uint32_t>(keys, other, count);
        for (std::int64_t i = 0; i < count; ++i) {
          sorted_line[i * out_stride] = Key::element(sorted[i], order.descending);
        }
        if (negative_zeros != 0) restore_zeros(line, in_stride, count, zero, sorted, sorted_line, out_stride);
      });
    });
  };
  return make_kernel(sort_lines, layout.bytes());
}

KernelRef prepare(const core::Step& step, const Order& order, int values, int indices) {
  const core::View& in = step.inputs[0].view;
  const bool long_lines = in.rank() != 0 && in.shape[static_cast<std::size_t>(order.axis)] > INT64_C(0xffffffff);
  return with_element(step.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return long_lines || sizeof(T) == 8 ? sort_kernel<T, std::uint64_t>(step, order, values, indices)
                                        : sort_kernel<T, std::uint32_t>(step, order, values, indices);
  });
}

Order whole_order(const core::Step& step) {
  const auto& attributes = std::get<core::AxisAttributes>(*step.attributes);
  const core::View& in = step.inputs[0].view;
  const std::int64_t count = in.rank() == 0 ? 1 : in.shape[static_cast<std::size_t>(attributes.axis)];
  return {attributes.axis, count, attributes.flag, false};
}

}  // namespace

KernelRef prepare_sort(const core::Step& step) {
  return with_element(step.inputs[0].dtype,
                      [&]<class T>(std::type_identity<T>) { return value_kernel<T>(step, whole_order(step)); });
}

KernelRef prepare_argsort(const core::Step& step) { return prepare(step, whole_order(step), -1, 0); }

KernelRef prepare_topk(const core::Step& step) {
  const auto& attributes = std::get<core::TopkAttributes>(*step.attributes);
  const core::View& in = step.inputs[0].view;
  const std::int64_t axis = attributes.axis < 0 ? attributes.axis + in.rank() : attributes.axis;
  return prepare(step, {axis, attributes.k, attributes.largest, true}, 0, 1);
}

}  // namespace tyto::cpu
