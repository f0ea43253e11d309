// The last step of building: every storage gets its place in an arena.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "core/text.hpp"
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

bool checks_plans(const CompileOptions& options) {
#ifdef NDEBUG
  return options.check_plan || is_set("TYTO_CHECK_PLANS");
#else
  (void)options;
  return true;
#endif
}

}  // namespace

void ExecutableBuilder::plan_memory() {
  target_.poisoned_ = options_.poison || is_set("TYTO_POISON");
  for (Storage& storage : target_.storages_) {
    if (storage.source != Source::kept) continue;
    storage.offset =
        std::exchange(target_.kept_bytes_, target_.kept_bytes_ + static_cast<std::size_t>(in_arena(storage.bytes)));
  }
  plan_arena(false);
  if (split_) plan_arena(true);
}

void ExecutableBuilder::plan_arena(bool on_host) {
  const auto alignment = static_cast<std::int64_t>((on_host ? host_ : device_).properties().alignment);
  std::vector<Block> blocks;
  std::vector<std::size_t> block_of(target_.storages_.size(), SIZE_MAX);
  for (std::uint32_t i = 0; i < target_.storages_.size(); ++i) {
    const Storage& storage = target_.storages_[i];
    if (storage.source != (on_host ? Source::host : Source::arena)) continue;
    block_of[i] = blocks.size();
    // Labels lie in storages until the plan is made; there may be more storages then.
    blocks.push_back({.id = i,
                      .lower = storage.first_step,
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
  if (kin_ != nullptr && !on_host && options.strategy == "best") plan = plan_by_order(*kin_, blocks, options);
  if (!plan && !on_host) {
    std::vector<memory::Seam> seams;
    for (const TakenOver& each : taken_over_) seams.push_back({block_of[each.storage], each.step});
    // Who names a strategy wants to see what it does.
    constexpr int trials = 12;
    constexpr int trials_of_others = 2;
    memory::SeamedPlan planned =
        memory::plan_with_seams(blocks, seams, options, options.strategy == "best" ? trials : trials_of_others);
    take_apart(seams, planned);
    blocks = std::move(planned.blocks);
    plan = std::move(planned.plan);
  }
  if (!plan) plan = tyto::plan_memory(blocks, options);
  if (checks_plans(options_)) {
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

// Behind an opened seam the result has a storage of its own: what the step writes, and all that is done with it later.
void ExecutableBuilder::take_apart(std::span<const memory::Seam> seams, memory::SeamedPlan& planned) {
  std::vector<std::size_t> in_time(planned.opened.size());
  for (std::size_t i = 0; i < in_time.size(); ++i) in_time[i] = i;
  std::ranges::stable_sort(in_time, std::ranges::less(), [&](std::size_t i) { return seams[planned.opened[i]].at; });
  const std::size_t whole = planned.blocks.size() - planned.opened.size();
  for (const std::size_t i : in_time) {
    const memory::Seam& seam = seams[planned.opened[i]];
    // A block with several seams: this one is in the piece that the seam before it made.
    std::size_t before = seam.block;
    for (const std::size_t other : in_time) {
      if (other == i) break;
      if (seams[planned.opened[other]].block == seam.block) before = whole + other;
    }
    const auto old = static_cast<std::uint32_t>(planned.blocks[before].id);
    const auto at = static_cast<std::uint32_t>(seam.at);
    const std::uint32_t own = new_storage(Source::arena, 0, target_.storages_[old].bytes, target_.steps_[at].node);
    target_.storages_[own].first_step = at;
    target_.storages_[own].last_step = std::exchange(target_.storages_[old].last_step, at);
    planned.blocks[whole + i].id = own;
    const ExecutableStep& step = target_.steps_[at];
    const auto begin = target_.operands_.begin() + step.first_operand + step.input_count;
    std::replace(begin, target_.operands_.end(), old, own);
  }
}

}  // namespace tyto::run
