// The last step of building: every storage gets its place in an arena.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "core/text.hpp"
#include "engine/execution/contents_check.hpp"
#include "engine/execution/executable_builder.hpp"
#include "engine/execution/executable_sizes.hpp"
#include "optimiser/memory/plan.hpp"

namespace tyto::run {

namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

std::string memory_strategy(const CompileOptions& options) {
  const char* chosen = std::getenv("TYTO_MEMORY");
  return chosen != nullptr && options.memory_strategy == "best" ? chosen : options.memory_strategy;
}

}  // namespace

bool checks_plans(const CompileOptions& options) {
#ifdef NDEBUG
  return options.check_plan || is_set("TYTO_CHECK_PLANS");
#else
  (void)options;
  return true;
#endif
}

void ExecutableBuilder::plan_memory() {
  target_.poisoned_ = options_.poison || is_set("TYTO_POISON");
  for (Storage& storage : target_.storages_) {
    if (storage.kind != StorageKind::kept) continue;
    storage.offset =
        std::exchange(target_.kept_bytes_, target_.kept_bytes_ + static_cast<std::size_t>(in_arena(storage.bytes)));
  }
  plan_arena(false);
  if (split_) plan_arena(true);
  if (checks_) check_contents();
}

// Storages lie where they are planned: now it shows whether each step finds what it is to read.
void ExecutableBuilder::check_contents() const {
  const std::vector<std::string> faults = run::check_contents(planned_program(target_));
  if (!faults.empty()) throw GraphError(core::text("compile: the memory plan is wrong: ", faults.front()));
}

void ExecutableBuilder::plan_arena(bool on_host) {
  const auto alignment = static_cast<std::int64_t>((on_host ? host_ : device_).properties().alignment);
  std::vector<Block> blocks;
  std::vector<std::size_t> block_of(target_.storages_.size(), SIZE_MAX);
  for (std::uint32_t i = 0; i < target_.storages_.size(); ++i) {
    const Storage& storage = target_.storages_[i];
    if (storage.kind != (on_host ? StorageKind::host : StorageKind::arena)) continue;
    block_of[i] = blocks.size();
    // Labels lie in storages until the plan is made; there may be more storages then.
    blocks.push_back({.id = i,
                      .lower = storage.first_instruction,
                      .upper = std::int64_t{storage.last_step} + 1,
                      .size = static_cast<std::int64_t>(storage.bytes),
                      .alignment = alignment,
                      .label = storage.label});
  }
  PlanOptions options;
  options.strategy = memory_strategy(options_);
  options.alignment = alignment;
  options.work = memory::worth_of_graph(blocks.size());
  std::optional<MemoryPlan> plan;
  if (related_ != nullptr && !on_host && options.strategy == "best") plan = plan_by_order(*related_, blocks, options);
  if (!plan && !on_host) {
    std::vector<memory::InPlaceReuse> reuses;
    for (const InPlaceResult& each : in_place_results_) reuses.push_back({block_of[each.storage], each.step});
    // Who names a strategy wants to see what it does.
    constexpr int trials = 12;
    constexpr int trials_of_others = 2;
    memory::InPlacePlan planned =
        memory::plan_in_place(blocks, reuses, options, options.strategy == "best" ? trials : trials_of_others);
    separate_in_place(reuses, planned);
    blocks = std::move(planned.blocks);
    plan = std::move(planned.plan);
  }
  if (!plan) plan = tyto::plan_memory(blocks, options);
  if (checks_) {
    const std::vector<std::string> faults = check_memory_plan(blocks, *plan, options);
    if (!faults.empty()) throw GraphError(core::text("compile: the memory plan is wrong: ", faults.front()));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    target_.storages_[static_cast<std::size_t>(blocks[i].id)].offset = static_cast<std::size_t>(plan->offsets[i]);
  }
  (on_host ? target_.host_bytes_ : target_.arena_bytes_) = static_cast<std::size_t>(plan->height);
  if (on_host) return;
  target_.plan_ = std::move(*plan);
  target_.blocks_ = std::move(blocks);
  for (const Block& block : target_.blocks_) {
    target_.block_labels_.push_back(target_.storages_[static_cast<std::size_t>(block.id)].label);
  }
  for (std::size_t i = 0; i < target_.blocks_.size(); ++i) target_.blocks_[i].label = target_.block_labels_[i];
}

// After a separated in-place reuse the result has a storage of its own: what the step writes, and all later uses of it.
void ExecutableBuilder::separate_in_place(std::span<const memory::InPlaceReuse> reuses, memory::InPlacePlan& planned) {
  std::vector<std::size_t> in_time(planned.separated.size());
  for (std::size_t i = 0; i < in_time.size(); ++i) in_time[i] = i;
  std::ranges::stable_sort(in_time, std::ranges::less(),
                           [&](std::size_t i) { return reuses[planned.separated[i]].at; });
  const std::size_t whole = planned.blocks.size() - planned.separated.size();
  for (const std::size_t i : in_time) {
    const memory::InPlaceReuse& reuse = reuses[planned.separated[i]];
    // A block with several in-place reuses: this one is in the piece that the in-place reuse before it made.
    std::size_t before = reuse.block;
    for (const std::size_t other : in_time) {
      if (other == i) break;
      if (reuses[planned.separated[other]].block == reuse.block) before = whole + other;
    }
    const auto old = static_cast<std::uint32_t>(planned.blocks[before].id);
    const auto at = static_cast<std::uint32_t>(reuse.at);
    const std::uint32_t own = new_storage(StorageKind::arena, 0, target_.storages_[old].bytes, target_.steps_[at].node);
    target_.storages_[own].first_instruction = at;
    target_.storages_[own].last_step = std::exchange(target_.storages_[old].last_step, at);
    planned.blocks[whole + i].id = own;
    const ExecutableStep& step = target_.steps_[at];
    const auto begin = target_.operands_.begin() + step.first_operand + step.input_count;
    std::replace(begin, target_.operands_.end(), old, own);
  }
}

}  // namespace tyto::run
