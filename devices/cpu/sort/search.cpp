// searchsorted and histogram: binary search of many values in one sorted line, and the table of the sorting family.
#include <algorithm>

#include "core/op_ids.hpp"
#include "core/text.hpp"
#include "devices/cpu/element_dispatch.hpp"
#include "devices/cpu/sort/order_key.hpp"
#include "devices/cpu/sort/sort.hpp"
#include "devices/cpu/strided_iterator.hpp"
#include "devices/cpu/workspace.hpp"

namespace tyto::cpu {

namespace {

using KernelRef = std::shared_ptr<const core::Kernel>;
using Addresses = std::span<const core::Address>;

/// Elements of the line that come before the key: those below it, and with `after` those equal to it too. NaN is above
/// everything.
template <class T>
std::int64_t position_of(KeyBits<T> key, const T* line, std::int64_t stride, std::int64_t count, bool after) {
  std::int64_t low = 0;
  while (count > 0) {
    const std::int64_t half = count / 2;
    const KeyBits<T> middle = OrderKey<T>::of(line[(low + half) * stride], false);
    const bool before = after ? middle <= key : middle < key;
    low = before ? low + half + 1 : low;
    count = before ? count - half - 1 : half;
  }
  return low;
}

/// As position_of, in keys that lie side by side: loads and comparisons without a branch.
template <class Bits>
std::int64_t position_among(Bits key, const Bits* keys, std::int64_t count, bool after) {
  const Bits* low = keys;
  for (; count > 1; count -= count / 2) {
    const Bits middle = low[count / 2 - 1];
    low += (after ? middle <= key : middle < key) ? count / 2 : 0;
  }
  return (low - keys) + (count == 1 && (after ? *low <= key : *low < key) ? 1 : 0);
}

template <class T>
KernelRef search_kernel(const core::Step& step) {
  using Bits = KeyBits<T>;
  const core::View& sorted = step.inputs[0].view;
  const bool right = std::get<core::AxisAttributes>(*step.attributes).flag;
  const StridedIterator<2> walk(std::array<core::View, 2>{step.inputs[1].view, step.outputs[0].view});
  const std::int64_t length = sorted.shape[0], stride = sorted.strides[0], offset = sorted.offset;
  const int workers = threads_for(static_cast<double>(walk.count()) * 30);
  // Many values in a line: its keys are made once. Few: only those on the way.
  const bool keyed = walk.count() >= length / 4;
  WorkspaceLayout layout;
  const std::size_t keys_at = layout.reserve(keyed ? static_cast<std::size_t>(length) * sizeof(Bits) : 0);
  const auto search = [=](Addresses inputs, Addresses outputs, core::Address workspace) {
    const T* line = reinterpret_cast<const T*>(inputs[0].pointer()) + offset;
    const T* values = reinterpret_cast<const T*>(inputs[1].pointer());
    auto* out = reinterpret_cast<std::int64_t*>(outputs[0].pointer());
    auto* keys = keyed ? at<Bits>(workspace.pointer(), keys_at) : nullptr;
    run_team(workers, [&](Team team) {
      const Range mine = share(walk.count(), team.member, team.size);
      if (!keyed) {
        walk.each(mine, [&](std::int64_t, const StridedIterator<2>::Offsets& offsets) {
          out[offsets[1]] = position_of(OrderKey<T>::of(values[offsets[0]], false), line, stride, length, right);
        });
        return;
      }
      const Range shared = share(length, team.member, team.size, 64);
      for (std::int64_t i = shared.begin; i < shared.end; ++i) keys[i] = OrderKey<T>::of(line[i * stride], false);
      team.barrier();
      walk.each(mine, [&](std::int64_t, const StridedIterator<2>::Offsets& offsets) {
        out[offsets[1]] = position_among(OrderKey<T>::of(values[offsets[0]], false), keys, length, right);
      });
    });
  };
  return make_kernel(search, layout.bytes());
}

template <class T>
void check_ascending(const T* line, std::int64_t stride, std::int64_t length) {
  for (std::int64_t i = 1; i < length; ++i) {
    if (OrderKey<T>::of(line[i * stride], false) < OrderKey<T>::of(line[(i - 1) * stride], false)) {
      throw ValueError(core::text("histogram: edges must ascend, but edge ", i, " is below edge ", i - 1));
    }
  }
}

// Every thread counts for itself; integers add up the same in any order.
template <class T>
KernelRef histogram_kernel(const core::Step& step) {
  const core::View& edges = step.inputs[1].view;
  const StridedIterator<1> walk(std::array<core::View, 1>{step.inputs[0].view});
  const std::int64_t length = edges.shape[0], stride = edges.strides[0], offset = edges.offset;
  const std::int64_t bins = std::max<std::int64_t>(length - 1, 0), out_offset = step.outputs[0].view.offset;
  const int workers = threads_for(static_cast<double>(walk.count()) * 30);
  WorkspaceLayout layout;
  std::size_t distance = 0;
  layout.reserve_each(static_cast<std::size_t>(workers), static_cast<std::size_t>(bins) * sizeof(std::int64_t),
                      distance);
  const auto count_values = [=](Addresses inputs, Addresses outputs, core::Address workspace) {
    if (bins == 0) return;
    const T* x = reinterpret_cast<const T*>(inputs[0].pointer());
    const T* line = reinterpret_cast<const T*>(inputs[1].pointer()) + offset;
    auto* out = reinterpret_cast<std::int64_t*>(outputs[0].pointer()) + out_offset;
    check_ascending(line, stride, length);
    run_team(workers, [&](Team team) {
      auto* counts = at<std::int64_t>(workspace.pointer(), static_cast<std::size_t>(team.member) * distance);
      std::fill_n(counts, bins, 0);
      const auto top = OrderKey<T>::of(line[(length - 1) * stride], false);
      walk.each(share(walk.count(), team.member, team.size),
                [&](std::int64_t, const StridedIterator<1>::Offsets& offsets) {
                  const auto key = OrderKey<T>::of(x[offsets[0]], false);
                  if (is_stored_float<T> && key == OrderKey<T>::last) return;  // NaN is in no bin
                  // The last bin holds its upper edge too.
                  const std::int64_t bin = key == top ? bins - 1 : position_of(key, line, stride, length, true) - 1;
                  if (bin >= 0 && bin < bins) ++counts[bin];
                });
      team.barrier();
      const Range mine = share(bins, team.member, team.size, 8);
      std::fill(out + mine.begin, out + mine.end, 0);
      for (int member = 0; member < team.size; ++member) {
        const auto* theirs = at<std::int64_t>(workspace.pointer(), static_cast<std::size_t>(member) * distance);
        for (std::int64_t bin = mine.begin; bin < mine.end; ++bin) out[bin] += theirs[bin];
      }
    });
  };
  return make_kernel(count_values, layout.bytes());
}

constexpr KernelEntry entries[] = {{core::OpId::sort, prepare_sort},
                                   {core::OpId::argsort, prepare_argsort},
                                   {core::OpId::topk, prepare_topk},
                                   {core::OpId::order_statistics, prepare_order_statistics},
                                   {core::OpId::partition, prepare_partition},
                                   {core::OpId::argpartition, prepare_argpartition},
                                   {core::OpId::searchsorted, prepare_searchsorted},
                                   {core::OpId::histogram, prepare_histogram}};

}  // namespace

KernelRef prepare_searchsorted(const core::Step& step) {
  return with_element(step.inputs[0].dtype, [&]<class T>(std::type_identity<T>) { return search_kernel<T>(step); });
}

KernelRef prepare_histogram(const core::Step& step) {
  return with_element(step.inputs[0].dtype, [&]<class T>(std::type_identity<T>) { return histogram_kernel<T>(step); });
}

std::span<const KernelEntry> sort_kernels() { return entries; }

}  // namespace tyto::cpu
