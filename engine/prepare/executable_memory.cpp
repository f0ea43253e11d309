// SPDX-License-Identifier: MIT
// The last step of building: gives every storage its offset in an arena.
#include <algorithm>
#include <utility>

#include "core/system/environment.hpp"
#include "core/value/text.hpp"
#include "engine/prepare/contents_check.hpp"
#include "engine/prepare/executable_builder.hpp"
#include "engine/prepare/storage_lifetimes.hpp"
#include "engine/regions/run/region_kernel.hpp"
#include "optimiser/memory/plan.hpp"

namespace tyto::run {

namespace {

std::string memory_strategy(const CompileOptions& options) {
  const auto chosen = core::environment("TYTO_MEMORY");
  return chosen && options.memory_strategy == "best" ? std::string(*chosen) : options.memory_strategy;
}

}  // namespace

bool checks_plans(const CompileOptions& options) {
#ifdef NDEBUG
  return options.check_plan || core::environment_flag("TYTO_CHECK_PLANS");
#else
  (void)options;
  return true;
#endif
}

void ExecutableBuilder::plan_memory() {
  target_.poisoned_ = options_.poison || core::environment_flag("TYTO_POISON");
  note_instants();
  plan_arena(false);
  if (split_) plan_arena(true);
  if (checks_) check_contents();
}

// Steps begin one instant after the other, but for those of regions, within which there are more.
void ExecutableBuilder::note_instants() {
  target_.instants_.assign(1, 0);
  for (const ExecutableStep& step : target_.steps_) {
    const std::int64_t duration = step.region == nullptr ? 1 : step.region->layout().duration;
    target_.instants_.push_back(target_.instants_.back() + duration);
  }
}

// Offsets are final: check that each step finds the contents that it is to read.
void ExecutableBuilder::check_contents() const {
  const std::vector<std::string> faults = run::check_contents(planned_program(target_));
  if (!faults.empty()) core::throw_error<GraphError>("compile: the memory plan is wrong: ", faults.front());
}

ExecutableBuilder::ArenaBlocks ExecutableBuilder::blocks_of_arena(bool on_host) {
  const StorageKind kind = on_host ? StorageKind::host : StorageKind::arena;
  const auto alignment = static_cast<std::int64_t>((on_host ? host_ : device_).properties().alignment);
  std::vector<bool> whole_arena(target_.storages_.size(), false);
  bool has_regions = false;
  for (const ExecutableStep& step : target_.steps_) {
    if (step.region == nullptr) continue;
    has_regions = true;
    if (step.workspace != none) whole_arena[step.workspace] = true;
  }
  std::vector<StorageLifetime> lifetimes;
  if (has_regions) lifetimes = storage_lifetimes(target_);
  ArenaBlocks made;
  const auto add = [&](Block block, std::vector<Span> spans) {
    if (!spans.empty()) {
      block.lower = spans.front().lower;
      block.upper = spans.back().upper;
    }
    if (spans.size() > 1) {
      made.spans.push_back(std::move(spans));
      block.spans = made.spans.back();
    }
    made.blocks.push_back(block);
  };
  made.block_of.assign(target_.storages_.size(), SIZE_MAX);
  for (std::uint32_t i = 0; i < target_.storages_.size(); ++i) {
    Storage& storage = target_.storages_[i];
    if (storage.kind != kind || whole_arena[i]) continue;
    made.block_of[i] = made.blocks.size();
    std::vector<Span> spans;
    if (has_regions) {
      storage.begins_within = lifetimes[i].begins_within;
      storage.ends_within = lifetimes[i].ends_within;
      spans = std::move(lifetimes[i].spans);
    }
    // Labels lie in storages until the plan is made; there may be more storages then.
    add({.id = i,
         .lower = target_.begin_of(storage.first_instruction),
         .upper = target_.begin_of(storage.last_step + 1),
         .size = static_cast<std::int64_t>(storage.bytes),
         .alignment = alignment,
         .label = storage.label},
        std::move(spans));
  }
  std::int64_t id = Executable::first_region_block;
  for (std::uint32_t i = 0; i < target_.steps_.size(); ++i) {
    const ExecutableStep& step = target_.steps_[i];
    if (!target_.is_region_in(step, kind)) continue;
    const std::int64_t begin = target_.begin_of(i);
    for (const RegionBlock& block : step.region->layout().blocks) {
      std::vector<Span> spans;
      append_later(spans, block.spans, begin);
      add({.id = id++,
           .lower = begin + block.lower,
           .upper = begin + block.upper,
           .size = static_cast<std::int64_t>(block.bytes),
           .alignment = alignment,
           .label = block.label},
          std::move(spans));
    }
  }
  return made;
}

void ExecutableBuilder::plan_arena(bool on_host) {
  const auto alignment = static_cast<std::int64_t>((on_host ? host_ : device_).properties().alignment);
  ArenaBlocks arena = blocks_of_arena(on_host);
  std::vector<Block> blocks = std::move(arena.blocks);
  PlanOptions options;
  options.strategy = memory_strategy(options_);
  options.alignment = alignment;
  options.work = memory::worth_of_graph(blocks.size());
  MemoryPlan plan = memory::plan_worth(blocks, options, memory::worth_of_byte);
  if (checks_) {
    const std::vector<std::string> faults = check_memory_plan(blocks, plan, options);
    if (!faults.empty()) core::throw_error<GraphError>("compile: the memory plan is wrong: ", faults.front());
  }
  target_.place_blocks(on_host ? StorageKind::host : StorageKind::arena, blocks,
                       std::vector<std::size_t>(plan.offsets.begin(), plan.offsets.end()));
  (on_host ? target_.host_bytes_ : target_.arena_bytes_) = static_cast<std::size_t>(plan.height);
  if (on_host) return;
  target_.plan_ = std::move(plan);
  target_.blocks_ = std::move(blocks);
  target_.block_spans_ = std::move(arena.spans);
  for (const Block& block : target_.blocks_) {
    const bool in_region = block.id >= Executable::first_region_block;
    target_.block_labels_.emplace_back(in_region ? block.label
                                                 : target_.storages_[static_cast<std::size_t>(block.id)].label);
  }
  for (std::size_t i = 0; i < target_.blocks_.size(); ++i) target_.blocks_[i].label = target_.block_labels_[i];
  // Reports count steps.
  const auto after = std::ranges::upper_bound(target_.instants_, target_.plan_.peak_step);
  target_.plan_.peak_step = after - target_.instants_.begin() - 1;
}

void Executable::place(std::span<const std::size_t> offsets) { place_blocks(StorageKind::arena, blocks_, offsets); }

void Executable::place_blocks(StorageKind kind, std::span<const Block> blocks, std::span<const std::size_t> offsets) {
  std::vector<std::size_t> in_regions(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t id = blocks[i].id;
    if (id < first_region_block) storages_[static_cast<std::size_t>(id)].offset = offsets[i];
    else in_regions[static_cast<std::size_t>(id - first_region_block)] = offsets[i];
  }
  RegionOffsets rest(in_regions);
  for (const ExecutableStep& step : steps_) {
    if (is_region_in(step, kind)) step.region->place(rest.next(step.region->layout().blocks.size()));
  }
}

}  // namespace tyto::run
