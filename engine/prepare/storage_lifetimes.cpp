// SPDX-License-Identifier: MIT
// Visits the uses of each storage; a region's layout says when it needs its operands and results.
#include "engine/prepare/storage_lifetimes.hpp"

#include <algorithm>

#include "engine/regions/run/region_kernel.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::run {

namespace {

/// A use of a storage by a step.
struct Use {
  std::uint32_t step = 0;
  bool reads = false;
  bool writes = false;
  bool covers = false;  // all bytes are written
  bool replaces() const { return covers && !reads; }
};

std::vector<std::vector<Use>> uses_of(const Executable& plan) {
  std::vector<std::vector<Use>> uses(plan.storages().size());
  for (std::uint32_t i = 0; i < plan.steps().size(); ++i) {
    const ExecutableStep& step = plan.steps()[i];
    for (std::uint32_t k = 0; k < step.input_count + step.output_count; ++k) {
      const std::uint32_t storage = plan.operands()[step.first_operand + k];
      std::vector<Use>& list = uses[storage];
      if (list.empty() || list.back().step != i) list.push_back({.step = i});
      Use& use = list.back();
      if (k < step.input_count) {
        use.reads = true;
        continue;
      }
      use.writes = true;
      const core::Port result = plan.graph().nodes()[step.node].first_result + k - step.input_count;
      const bool whole = !step.copies && optimiser::bytes_of(plan.graph(), result) == plan.storages()[storage].bytes;
      use.covers = use.covers || whole;
    }
  }
  return uses;
}

std::vector<Span> needed_within(const Executable& plan, std::uint32_t index, std::uint32_t storage) {
  const ExecutableStep& step = plan.steps()[index];
  const RegionLayout& layout = step.region->layout();
  std::vector<Span> spans;
  for (std::uint32_t k = 0; k < step.input_count + step.output_count; ++k) {
    if (plan.operands()[step.first_operand + k] != storage) continue;
    append_later(spans, k < step.input_count ? layout.operands[k] : layout.results[k - step.input_count],
                 plan.begin_of(index));
  }
  return spans;
}

StorageLifetime lifetime_of(const Executable& plan, std::uint32_t index, const std::vector<Use>& uses, bool lasting) {
  const Storage& storage = plan.storages()[index];
  const bool given = storage.kind == StorageKind::input;
  StorageLifetime lifetime;
  const auto add = [&](std::int64_t lower, std::int64_t upper) {
    if (lower < upper) lifetime.spans.push_back({lower, upper});
  };
  std::int64_t reached = given ? 0 : plan.begin_of(storage.first_instruction);
  for (std::size_t k = 0; k < uses.size(); ++k) {
    const Use& use = uses[k];
    const std::int64_t begin = plan.begin_of(use.step), end = plan.begin_of(use.step + 1);
    if (!use.replaces() || (k == 0 && !given)) add(reached, begin);
    reached = end;
    const bool is_first = k == 0 && !given && storage.first_instruction == use.step;
    const bool is_last = k + 1 == uses.size() && storage.last_step <= use.step && !lasting;
    const bool kept = k + 1 < uses.size() ? !uses[k + 1].replaces() : !is_last;
    const bool in_part = use.writes ? use.covers || (is_first && !use.reads) : !kept;
    if (plan.steps()[use.step].region == nullptr || !in_part) {
      add(begin, end);
      continue;
    }
    append_later(lifetime.spans, needed_within(plan, use.step, index), 0);
    lifetime.begins_within = lifetime.begins_within || is_first;
    lifetime.ends_within = lifetime.ends_within || is_last;
  }
  if (lasting) add(reached, plan.duration());
  else if (!given) add(reached, plan.begin_of(storage.last_step + 1));
  unite(lifetime.spans);
  return lifetime;
}

}  // namespace

void append_later(std::vector<Span>& spans, const std::vector<Span>& more, std::int64_t begin) {
  for (const Span& each : more) spans.push_back({each.lower + begin, each.upper + begin});
}

void unite(std::vector<Span>& spans) {
  std::ranges::sort(spans, std::ranges::less(), &Span::lower);
  std::size_t count = 0;
  for (const Span& each : spans) {
    if (count != 0 && each.lower <= spans[count - 1].upper) {
      spans[count - 1].upper = std::max(spans[count - 1].upper, each.upper);
    } else {
      spans[count++] = each;
    }
  }
  spans.resize(count);
}

std::vector<StorageLifetime> storage_lifetimes(const Executable& plan) {
  std::vector<bool> updated(plan.graph().inputs().size(), false);
  for (std::size_t i = 0; i < plan.graph().updates().size(); ++i) {
    if (plan.is_updated_in_place(i)) updated[plan.graph().updates()[i].input] = true;
  }
  const std::vector<std::vector<Use>> uses = uses_of(plan);
  std::vector<StorageLifetime> lifetimes;
  for (std::uint32_t i = 0; i < plan.storages().size(); ++i) {
    const Storage& storage = plan.storages()[i];
    const bool lasting =
        storage.kind == StorageKind::output || (storage.kind == StorageKind::input && updated[storage.index]);
    lifetimes.push_back(lifetime_of(plan, i, uses[i], lasting));
  }
  return lifetimes;
}

}  // namespace tyto::run
