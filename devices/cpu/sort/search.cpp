// SPDX-License-Identifier: MIT
// searchsorted and histogram: many values searched for in one sorted line, and the table of the sorting family.
#include <algorithm>
#include <array>

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/sort/key_lines.hpp"
#include "devices/cpu/sort/sort.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

/// Values that a thread turns into keys at a time.
constexpr std::int64_t values_together = 1024;

/// The elements of a view in its order, in parts of at most values_together along lines as long as its layout allows.
class ValueParts {
 public:
  explicit ValueParts(const core::View& view) {
    std::array<core::View, 1> views{view};
    core::collapse(views);
    core::View& lines = views[0];
    if (lines.rank() != 0) {
      length_ = lines.shape[lines.shape.size() - 1];
      stride_ = lines.strides[lines.strides.size() - 1];
      lines.shape.erase(lines.shape.size() - 1);
      lines.strides.erase(lines.strides.size() - 1);
    }
    parts_ = std::max<std::int64_t>((length_ + values_together - 1) / values_together, 0);
    lines_ = StridedIterator<1>(views);
  }

  std::int64_t count() const { return lines_.count() * parts_; }
  std::int64_t elements() const { return lines_.count() * length_; }
  std::int64_t stride() const { return stride_; }

  /// Calls f(offset of the first element, its number, how many) for each part of a range.
  template <class F>
  void each(Range range, const F& f) const {
    for (std::int64_t part = range.begin; part < range.end; ++part) {
      const std::int64_t line = part / parts_, first = part % parts_ * values_together;
      f(lines_.at(line)[0] + first * stride_, line * length_ + first, std::min(values_together, length_ - first));
    }
  }

 private:
  std::int64_t length_ = 1, stride_ = 1, parts_ = 1;
  StridedIterator<1> lines_;
};

/// Workspace of a thread: keys of a part of the values, and as many besides.
struct PartWorkspace {
  std::size_t distance = 0, begin = 0;

  PartWorkspace(WorkspaceLayout& layout, int team_size) {
    begin = layout.reserve_each(2 * static_cast<std::size_t>(team_size), values_together * 8, distance);
  }

  std::byte* keys(core::Address workspace, int member) const {
    return workspace.pointer() + begin + 2 * static_cast<std::size_t>(member) * distance;
  }
};

/// The place of a value in a line of which too few values are searched for to turn all of it into keys.
template <class T>
std::int64_t position_of(const std::byte* value, const std::byte* sorted, std::int64_t stride, std::int64_t count,
                         bool after) {
  const T* line = reinterpret_cast<const T*>(sorted);
  const KeyBits<T> key = OrderKey<T>::of(*reinterpret_cast<const T*>(value), false);
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

KernelRef search_few(const core::Step& step) {
  const core::View& sorted = step.inputs[0].view;
  const bool right = std::get<core::SearchAttributes>(*step.attributes).right;
  const StridedIterator<2> iterator(std::array<core::View, 2>{step.inputs[1].view, step.outputs[0].view});
  const auto size = static_cast<std::int64_t>(size_of(step.inputs[0].dtype));
  const std::int64_t length = sorted.shape[0], stride = sorted.strides[0], offset = sorted.offset * size;
  const auto position =
      with_element(step.inputs[0].dtype, []<class T>(std::type_identity<T>) { return &position_of<T>; });
  const int team_size = threads_for(static_cast<double>(iterator.count()) * machine::searched_element);
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    auto* out = reinterpret_cast<std::int64_t*>(outputs[0].pointer());
    run_team(team_size, [&](Team team) {
      iterator.each(share(iterator.count(), team.member, team.size),
                    [&](std::int64_t, const StridedIterator<2>::Offsets& offsets) {
                      out[offsets[1]] = position(inputs[1].pointer() + offsets[0] * size, inputs[0].pointer() + offset,
                                                 stride, length, right);
                    });
    });
  });
}

/// Reads a whole line as keys, by a team.
void read_together(const LineKeys& keys_of, const std::byte* line, std::int64_t count, std::int64_t stride,
                   std::byte* keys, std::byte* others, Team team) {
  const auto size = static_cast<std::int64_t>(keys_of.element_size()), wide = static_cast<std::int64_t>(keys_of.size());
  const Range mine = share(count, team.member, team.size, 64);
  for (std::int64_t first = mine.begin; first < mine.end; first += values_together) {
    keys_of.read(line + first * stride * size, std::min(values_together, mine.end - first), stride, keys + first * wide,
                 others);
  }
  team.barrier();
}

KernelRef search_many(const core::Step& step) {
  const core::View& sorted = step.inputs[0].view;
  const bool right = std::get<core::SearchAttributes>(*step.attributes).right;
  const ValueParts parts(step.inputs[1].view);
  const LineKeys keys_of(step.inputs[0].dtype, false);
  const std::int64_t length = sorted.shape[0], stride = sorted.strides[0], out_offset = step.outputs[0].view.offset;
  const auto size = static_cast<std::int64_t>(keys_of.element_size());
  const std::int64_t offset = sorted.offset * size;
  const int team_size = threads_for(static_cast<double>(parts.elements()) * machine::merged_element);
  WorkspaceLayout layout;
  const std::size_t keys_at = layout.reserve(static_cast<std::size_t>(length) * keys_of.size());
  const PartWorkspace space(layout, team_size);
  const auto search = [=](Addresses inputs, Addresses outputs, core::Address workspace) {
    std::byte* line_keys = workspace.pointer() + keys_at;
    auto* out = reinterpret_cast<std::int64_t*>(outputs[0].pointer()) + out_offset;
    run_team(team_size, [&](Team team) {
      std::byte* keys = space.keys(workspace, team.member);
      std::byte* others = keys + space.distance;
      read_together(keys_of, inputs[0].pointer() + offset, length, stride, line_keys, others, team);
      parts.each(share(parts.count(), team.member, team.size),
                 [&](std::int64_t from, std::int64_t number, std::int64_t count) {
                   std::byte* const part = inputs[1].pointer() + from * size;
                   const bool as_they_lie = keys_of.are_elements(parts.stride());
                   if (!as_they_lie) keys_of.read(part, count, parts.stride(), keys, others);
                   keys_of.with_keys(line_keys, as_they_lie ? part : keys,
                                     [&](const auto& loops, const auto* line, const auto* values) {
                                       loops.search(line, length, values, count, right, out + number);
                                     });
                 });
    });
  };
  return make_kernel(search, layout.bytes());
}

/// So few edges are each compared with all values; among more, every value searches for its place.
constexpr std::int64_t few_edges = 16;

void check_ascending(std::int64_t edge, bool below) {
  if (!below) return;
  core::throw_error<ValueError>("histogram: edges must ascend, but edge ", edge, " is below edge ", edge - 1);
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
  const std::int64_t length = step.inputs[0].view.shape[0], wanted = step.inputs[1].view.count();
  return wanted >= length / 16 && length <= INT32_MAX ? search_many(step) : search_few(step);
}

// Every thread counts for itself; integers add up the same in any order. Before the first bin and behind the last are
// two more counts, for what is in none.
KernelRef prepare_histogram(const core::Step& step) {
  const core::View& edges = step.inputs[1].view;
  const ValueParts parts(step.inputs[0].view);
  const LineKeys keys_of(step.inputs[0].dtype, false);
  const std::int64_t length = edges.shape[0], stride = edges.strides[0], out_offset = step.outputs[0].view.offset;
  const std::int64_t bins = length - 1;
  const auto size = static_cast<std::int64_t>(keys_of.element_size());
  const std::int64_t offset = edges.offset * size;
  const int team_size = threads_for(static_cast<double>(parts.elements()) * machine::binned_element);
  WorkspaceLayout layout;
  const std::size_t edges_at = layout.reserve(static_cast<std::size_t>(length) * keys_of.size());
  const PartWorkspace space(layout, team_size);
  std::size_t counts_distance = 0, found_distance = 0;
  const auto members = static_cast<std::size_t>(team_size);
  const std::size_t counts_at =
      layout.reserve_each(members, static_cast<std::size_t>(length + 1) * sizeof(std::int64_t), counts_distance);
  const std::size_t found_at = layout.reserve_each(members, values_together * sizeof(std::int64_t), found_distance);
  const auto count_values = [=](Addresses inputs, Addresses outputs, core::Address workspace) {
    auto* out = reinterpret_cast<std::int64_t*>(outputs[0].pointer()) + out_offset;
    std::byte* edge_keys = workspace.pointer() + edges_at;
    read_together(keys_of, inputs[1].pointer() + offset, length, stride, edge_keys,
                  space.keys(workspace, 0) + space.distance, Team{});
    keys_of.with_keys(edge_keys, edge_keys, [&](const auto&, const auto* keys, const auto*) {
      for (std::int64_t i = 1; i < length; ++i) check_ascending(i, keys[i] < keys[i - 1]);
    });
    run_team(team_size, [&](Team team) {
      const auto member = static_cast<std::size_t>(team.member);
      auto* counts = at<std::int64_t>(workspace.pointer(), counts_at + member * counts_distance);
      auto* found = at<std::int64_t>(workspace.pointer(), found_at + member * found_distance);
      std::byte* keys = space.keys(workspace, team.member);
      std::fill_n(counts, length + 1, 0);
      parts.each(
          share(parts.count(), team.member, team.size), [&](std::int64_t from, std::int64_t, std::int64_t count) {
            keys_of.read(inputs[0].pointer() + from * size, count, parts.stride(), keys, keys + space.distance);
            keys_of.with_keys(edge_keys, keys, [&]<class K>(const KeyLoops<K>& loops, const K* line, const K* values) {
              // The last bin holds its upper edge too. NaN is in no bin, and an edge that is NaN is met by none.
              const K top = line[length - 1];
              const bool closed = !keys_of.is_nan(top);
              if (length <= few_edges) {
                std::int64_t from_edge = loops.count_from(values, count, line[0]);
                for (std::int64_t bin = 1; bin < length; ++bin) {
                  const bool with_edge = bin == length - 1 && closed;
                  const std::int64_t from_next =
                      with_edge && top == greatest_key<K>
                          ? 0
                          : loops.count_from(values, count, with_edge ? static_cast<K>(top + 1) : line[bin]);
                  counts[bin] += from_edge - from_next;
                  from_edge = from_next;
                }
                return;
              }
              loops.search(line, length, values, count, true, found);
              for (std::int64_t i = 0; i < count; ++i) {
                ++counts[found[i] - (closed && values[i] == top ? 1 : 0)];
              }
            });
          });
      team.barrier();
      const Range mine = share(bins, team.member, team.size, 8);
      std::fill(out + mine.begin, out + mine.end, 0);
      for (int other = 0; other < team.size; ++other) {
        const auto* theirs =
            at<std::int64_t>(workspace.pointer(), counts_at + static_cast<std::size_t>(other) * counts_distance);
        for (std::int64_t bin = mine.begin; bin < mine.end; ++bin) out[bin] += theirs[bin + 1];
      }
    });
  };
  return make_kernel(count_values, layout.bytes());
}

std::span<const KernelEntry> sort_kernels() { return entries; }

}  // namespace tyto::cpu
