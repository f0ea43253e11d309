// SPDX-License-Identifier: MIT
// Orders the steps by the sizes of the graph's storages, and once more with the workspace of kernels where that
// matters.
#include <algorithm>
#include <utility>

#include "engine/prepare/executable_builder.hpp"
#include "engine/regions/run/region_kernel.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::run {

void ExecutableBuilder::build() {
  target_.written_.assign(graph_.inputs().size(), false);
  for (const core::GraphUpdate& update : graph_.updates()) target_.written_[update.input] = true;
  const optimiser::Storages storages(graph_, !split_);
  make_steps(find_order(storages));
  if (std::optional<schedule::NodeOrder> better = better_order(storages)) {
    forget_steps();
    make_steps(std::move(*better));
  }
  target_.updated_in_place_ = std::move(updated_in_place_);
  plan_memory();
  join_steps();
}

schedule::NodeOrder ExecutableBuilder::find_order(const optimiser::Storages& storages) const {
  schedule::ExtraMemory extra;
  if (has_concat_like()) extra.destinations = [this](auto nodes) { return choose_destinations(nodes); };
  extra.workspace = extra_bytes_;
  return schedule::order_of(graph_, storages, extra, {.strategy = options_.schedule});
}

// The workspace of kernels is known once they are prepared. Where it raises the peak, another order is searched for.
std::optional<schedule::NodeOrder> ExecutableBuilder::better_order(const optimiser::Storages& storages) const {
  constexpr std::int64_t worth = 200;  // parts of the peak
  if (!target_.sections_.empty() || options_.schedule != "best") return {};
  const std::int64_t needed = load();
  if (needed - static_cast<std::int64_t>(target_.counted_bytes_) <= needed / worth) return {};
  schedule::NodeOrder order = find_order(storages);
  if (needed - order.peak <= needed / worth) return {};
  return order;
}

// Rounded up to where the next block may begin.
std::int64_t ExecutableBuilder::in_arena(std::size_t bytes) const {
  const std::size_t alignment = device_.properties().alignment;
  return static_cast<std::int64_t>((bytes + alignment - 1) / alignment * alignment);
}

// Most bytes of the device's arena that are needed at once.
std::int64_t ExecutableBuilder::load() const {
  std::vector<std::int64_t> change(target_.steps_.size() + 2, 0);
  for (const Storage& storage : target_.storages_) {
    if (storage.kind != StorageKind::arena) continue;
    change[storage.first_instruction] += in_arena(storage.bytes);
    change[storage.last_step + 1] -= in_arena(storage.bytes);
  }
  for (std::size_t i = 0; i < target_.steps_.size(); ++i) {
    const ExecutableStep& step = target_.steps_[i];
    if (!target_.is_region_in(step, StorageKind::arena)) continue;
    change[i] += in_arena(step.region->workspace());
    change[i + 1] -= in_arena(step.region->workspace());
  }
  std::int64_t alive = 0;
  std::int64_t most = 0;
  for (const std::int64_t each : change) most = std::max(most, alive += each);
  return most;
}

void ExecutableBuilder::forget_steps() {
  for (std::vector<UnpreparedStep>& list : unprepared_) list.clear();
  target_.steps_.clear();
  target_.storages_.clear();
  target_.operands_.clear();
  target_.shifts_.clear();
  target_.operand_views_.clear();
  target_.sections_.clear();
  target_.constants_.clear();
  target_.fallbacks_.clear();
  storage_consumers_.clear();
}

void ExecutableBuilder::make_steps(schedule::NodeOrder order) {
  const std::size_t ports = graph_.port_count();
  consumers_.assign(ports, 0);
  device_location_.assign(ports, {});
  host_location_.assign(ports, {});
  whole_storage_.assign(ports, none);
  extra_bytes_.assign(graph_.nodes().size(), 0);
  // A device's outputs are copied at the end.
  optimiser::Targets targets = optimiser::choose_targets(graph_, !split_);
  output_of_ = std::move(targets.output_of);
  update_of_ = std::move(targets.update_of);
  updated_in_place_.assign(graph_.updates().size(), false);
  count_consumers();
  locate_inputs();
  target_.counted_bytes_ = static_cast<std::size_t>(order.peak);
  target_.order_ = std::move(order.nodes);
  destination_ = std::move(order.destinations);
  destination_.resize(ports);
  for (const std::uint32_t node : target_.order_) add_node(node);
  finish_outputs();
  finish_updates();
  note_inputs();
  choose_sections();
  prepare_kernels();
  extend_lifetimes();
}

}  // namespace tyto::run
