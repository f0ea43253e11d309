// SPDX-License-Identifier: MIT
// Runs an executable: addresses are resolved once, only those of inputs and outputs anew each run.
#include "engine/run/session.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/value/text.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/verification.hpp"

namespace tyto::run {

Session::Session(std::shared_ptr<const Executable> executable, core::BufferRef arena)
    : executable_(std::move(executable)), arena_(std::move(arena)) {
  const Executable& plan = *executable_;
  if (plan.arena_bytes() != 0 && (arena_ == nullptr || arena_->bytes() < plan.arena_bytes())) {
    arena_ = plan.device().allocate(plan.arena_bytes());
  }
  if (plan.host_bytes() != 0) host_arena_ = cpu_device().allocate(plan.host_bytes());
  inputs_.resize(plan.graph().inputs().size());
  outputs_.resize(plan.graph().outputs().size());
  addresses_.resize(plan.operands().size());
  moved_.assign(inputs_.size() + outputs_.size(), 1);
  std::vector<std::pair<std::size_t, std::uint32_t>> moving;  // slots and operands in them
  for (std::uint32_t i = 0; i < plan.operands().size(); ++i) {
    const Storage& storage = plan.storages()[plan.operands()[i]];
    if (storage.kind == StorageKind::input || storage.kind == StorageKind::output) {
      moving.emplace_back(storage.index + (storage.kind == StorageKind::output ? inputs_.size() : 0), i);
    } else {
      addresses_[i] = address_of_storage(storage);
      addresses_[i].offset += plan.shifts()[i];
    }
  }
  std::ranges::sort(moving);
  for (const auto& [slot, operand] : moving) {
    first_operands_.resize(slot + 1, static_cast<std::uint32_t>(operands_of_slots_.size()));
    operands_of_slots_.push_back(operand);
  }
  first_operands_.resize(moved_.size() + 1, static_cast<std::uint32_t>(operands_of_slots_.size()));
  for (const ExecutableStep& step : plan.steps()) {
    workspaces_.push_back(step.workspace == UINT32_MAX ? core::Address()
                                                       : address_of_storage(plan.storages()[step.workspace]));
  }
}

core::Address Session::address_of_storage(const Storage& storage) const {
  switch (storage.kind) {
    case StorageKind::arena: return {arena_ ? arena_->memory() : nullptr, storage.offset};
    case StorageKind::host: return {host_arena_ ? host_arena_->memory() : nullptr, storage.offset};
    case StorageKind::constant: return address_of(executable_->constants()[storage.index]);
    case StorageKind::input: {
      const core::Array& array = inputs_[storage.index];
      return {array.buffer->memory(), static_cast<std::size_t>(array.view.offset) * size_of(array.dtype)};
    }
    case StorageKind::output: return address_of(outputs_[storage.index]);
  }
  return {};
}

void Session::bind(std::uint32_t input, const core::Array& array) {
  const core::Graph& graph = executable_->graph();
  const core::GraphInput& slot = graph.inputs()[input];
  const core::TensorType& type = graph.type(slot.port);
  if (array.dtype != type.dtype) {
    core::throw_error<TypeError>("input '", slot.name, "' takes ", type.dtype, ", given ", array.dtype);
  }
  if (array.view.shape != type.shape) {
    core::throw_error<ShapeError>("input '", slot.name, "' takes shape ", type.shape, ", given ", array.view.shape);
  }
  hold(input, contiguous(to_device(array, executable_->device())));
}

void Session::release_inputs() {
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) unbind(i);
}

void Session::require(std::uint32_t input) const {
  if (inputs_[input]) return;
  const core::Graph& graph = executable_->graph();
  const core::GraphInput& slot = graph.inputs()[input];
  core::throw_error<GraphError>("input '", slot.name, "' of shape ", graph.type(slot.port).shape,
                                " was given no value");
}

void Session::refresh_operands(std::size_t slot) {
  const Executable& plan = *executable_;
  for (std::uint32_t at = first_operands_[slot]; at < first_operands_[slot + 1]; ++at) {
    const std::uint32_t operand = operands_of_slots_[at];
    addresses_[operand] = address_of_storage(plan.storages()[plan.operands()[operand]]);
    addresses_[operand].offset += plan.shifts()[operand];
  }
  moved_[slot] = 0;
}

void Session::refresh() {
  const Executable& plan = *executable_;
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    if (moved_[i] == 0 || !plan.needs(i)) continue;
    require(i);
    refresh_operands(i);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i] || outputs_[i].buffer.use_count() != 1) {
      const core::TensorType& type = plan.graph().type(plan.graph().outputs()[i]);
      give_output(i, new_array(plan.device(), type.dtype, type.shape));
    }
    if (moved_[inputs_.size() + i] != 0) refresh_operands(inputs_.size() + i);
  }
}

core::LaunchAddresses Session::launch_addresses(std::size_t index) const {
  const ExecutableStep& step = executable_->steps()[index];
  const core::Address* operands = addresses_.data() + step.first_operand;
  return {{operands, step.input_count}, {operands + step.input_count, step.output_count}, workspaces_[index]};
}

void Session::launch(std::size_t index, bool with_next) const {
  const std::span<const ExecutableStep> steps = executable_->steps();
  const core::LaunchAddresses given = launch_addresses(index);
  try {
    if (with_next) steps[index].kernel->launch_joined(given, *steps[index + 1].kernel, launch_addresses(index + 1));
    else steps[index].kernel->launch(given.inputs, given.outputs, given.workspace);
  } catch (...) {
    executable_->rethrow(index);
  }
}

void Session::launch_range(std::size_t first, std::size_t end) const {
  const std::span<const ExecutableStep> steps = executable_->steps();
  for (std::size_t i = first; i < end; ++i) {
    launch(i, steps[i].joins_next);
    if (steps[i].joins_next) ++i;
  }
}

void Session::launch_lane(std::span<const std::uint32_t> steps, std::uint32_t& now) const {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    now = steps[i];
    const bool joined = executable_->steps()[steps[i]].joins_next;
    launch_range(steps[i], steps[i] + (joined ? 2 : 1));
    if (joined) ++i;
  }
}

// An exception ends its lane. When all lanes have come to their end the one of the earliest step is thrown, as if steps
// had run one after the other. Allocations of other threads than the calling one.
std::size_t Session::launch_lanes(const ParallelSection& section) const {
  struct Lanes {
    const Session& session;
    const ParallelSection& section;
    std::mutex mutex = {};
    std::uint32_t failed_step = UINT32_MAX;
    std::exception_ptr exception = {};
    std::thread::id caller = std::this_thread::get_id();
    std::size_t allocated = 0;  // by other threads than the caller's, which are counted there
  } lanes{*this, section};
  const auto run = [](const void* context, int lane) {
    auto& all = *static_cast<Lanes*>(const_cast<void*>(context));
    std::uint32_t step = 0;
    const std::size_t before = all.session.allocations();
    try {
      all.session.launch_lane(all.section.lanes[static_cast<std::size_t>(lane)], step);
    } catch (...) {
      const std::lock_guard lock(all.mutex);
      if (step < all.failed_step) {
        all.failed_step = step;
        all.exception = std::current_exception();
      }
    }
    if (std::this_thread::get_id() == all.caller) return;
    const std::lock_guard lock(all.mutex);
    all.allocated += all.session.allocations() - before;
  };
  executable_->device().run_lanes(static_cast<int>(section.lanes.size()), run, &lanes);
  if (lanes.exception) std::rethrow_exception(lanes.exception);
  return lanes.allocated;
}

std::size_t Session::launch_steps() const {
  std::size_t next = 0, allocated = 0;
  for (const ParallelSection& section : executable_->sections()) {
    launch_range(next, section.first);
    allocated += launch_lanes(section);
    next = section.end;
  }
  launch_range(next, executable_->steps().size());
  return allocated;
}

void Session::run() {
  static const bool verified = asks_for_verification();
  if (verified && can_be_verified(*executable_)) {
    run_beside_reference();
  } else {
    run_steps();
  }
}

void Session::run_steps() {
  refresh();
  if (!executable_->collectives().empty()) core::agree(executable_->collectives());
  if (!milliseconds_.empty()) {
    run_timed();
  } else if (executable_->is_poisoned() || executable_->number_check().nan || unplanned_ != 0) {
    run_watched();
  } else {
    const std::size_t before = allocations();
    const std::size_t elsewhere = launch_steps();
    executable_->device().synchronise();
    unplanned_ += allocations() - before + elsewhere;
  }
}

namespace {

/// Times what a step has a device do: by the device's clock where it has one, as the host's counts the way there and
/// whatever the driver does at a kernel's first launch. Steps on the host go by the host's clock.
class StepClock {
 public:
  explicit StepClock(core::Device& device) : device_(device) { device_.start_clock(); }
  ~StepClock() { device_.stop_clock(); }
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;

  template <class Launch>
  double milliseconds(const Launch& launch) {
    const auto start = std::chrono::steady_clock::now();
    launch();
    return device_.lap().value_or(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }

 private:
  core::Device& device_;
};

}  // namespace

void Session::run_timed() {
  StepClock clock(executable_->device());
  for (std::size_t i = 0; i < executable_->steps().size(); ++i) {
    milliseconds_[i] = clock.milliseconds([&] { launch(i); });
  }
}

std::size_t Session::allocations() const {
  const core::Device& device = executable_->device();
  return device.allocations() + (&device == &cpu_device() ? 0 : cpu_device().allocations());
}

// The same with checks after each step.
void Session::run_watched() {
  const Executable& plan = *executable_;
  const bool poisoned = plan.is_poisoned();
  if (poisoned) {
    if (dying_.empty()) {
      dying_.resize(plan.steps().size() + 1);
      for (std::uint32_t i = 0; i < plan.storages().size(); ++i) {
        const Storage& storage = plan.storages()[i];
        if (storage.kind != StorageKind::arena && storage.kind != StorageKind::host) continue;
        if (storage.ends_within) continue;  // others may lie there when the step is done
        dying_[std::min<std::size_t>(storage.last_step, plan.steps().size())].push_back(i);
      }
    }
    poison(arena_, 0, plan.arena_bytes());
    poison(host_arena_, 0, plan.host_bytes());
    for (const core::Array& output : outputs_) {
      poison(output.buffer, 0, static_cast<std::size_t>(output.view.count()) * size_of(output.dtype));
    }
  }
  for (std::size_t i = 0; i < plan.steps().size(); ++i) {
    std::optional<CheckedStep> checked;
    if (plan.number_check().nan) checked.emplace(plan, i, addresses_.data());
    const std::size_t before = allocations();
    launch(i);
    if (const std::size_t count = allocations() - before; count != 0) {
      const ExecutableStep& step = plan.steps()[i];
      const auto& label = plan.graph().nodes()[step.node].label;
      unplanned_ += count;
      unplanned_by_node_[(label ? *label + "/" : std::string()) + step.name] += count;
    }
    if (checked) checked->check_results();
    if (poisoned) poison_dead(i);
  }
  plan.device().synchronise();
}

// All bits set is NaN in every floating-point type and a wild number in the others.
void Session::poison(const core::BufferRef& buffer, std::size_t offset, std::size_t bytes) const {
  constexpr std::byte pattern[] = {std::byte{0xFF}};
  if (bytes != 0) buffer->device()->fill(buffer->at(offset), pattern, bytes);
}

void Session::poison_dead(std::size_t step) const {
  for (const std::uint32_t i : dying_[step]) {
    const Storage& storage = executable_->storages()[i];
    poison(storage.kind == StorageKind::arena ? arena_ : host_arena_, storage.offset, storage.bytes);
  }
}

}  // namespace tyto::run
