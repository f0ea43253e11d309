// Running an executable: addresses resolved once, only those of inputs and outputs looked up anew each run.
#include "engine/run/session.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
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
  packed_.resize(plan.packings().size());
  inputs_.resize(plan.graph().inputs().size());
  outputs_.resize(plan.graph().outputs().size());
  addresses_.resize(plan.operands().size());
  for (std::uint32_t i = 0; i < plan.operands().size(); ++i) {
    const Storage& storage = plan.storages()[plan.operands()[i]];
    if (storage.kind == StorageKind::input || storage.kind == StorageKind::output ||
        storage.kind == StorageKind::kept) {
      moving_.push_back(i);
    } else {
      addresses_[i] = address_of_storage(storage);
      addresses_[i].offset += plan.shifts()[i];
    }
  }
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
      if (!array) return {};  // held packed
      return {array.buffer->memory(), static_cast<std::size_t>(array.view.offset) * size_of(array.dtype)};
    }
    case StorageKind::output: return address_of(outputs_[storage.index]);
    case StorageKind::kept: return {kept_->memory(), storage.offset};
  }
  return {};
}

void Session::bind(std::uint32_t input, const core::Array& array) {
  const core::Graph& graph = executable_->graph();
  const core::GraphInput& slot = graph.inputs()[input];
  const core::TensorType& type = graph.type(slot.port);
  if (array.dtype != type.dtype) {
    throw TypeError(core::text("input '", slot.name, "' takes ", type.dtype, ", given ", array.dtype));
  }
  if (array.view.shape != type.shape) {
    throw ShapeError(core::text("input '", slot.name, "' takes shape ", type.shape, ", given ", array.view.shape));
  }
  inputs_[input] = contiguous(to_device(array, executable_->device()));
}

void Session::release_inputs() { inputs_.assign(inputs_.size(), {}); }

void Session::release_packed() {
  kept_ = nullptr;
  for (Packed& each : packed_) each.due = true;
}

void Session::require(std::uint32_t input) const {
  if (inputs_[input]) return;
  const core::Graph& graph = executable_->graph();
  const core::GraphInput& slot = graph.inputs()[input];
  throw GraphError(core::text("input '", slot.name, "' of shape ", graph.type(slot.port).shape, " was given no value"));
}

void Session::refresh() {
  const Executable& plan = *executable_;
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i] && !holds_packed(i)) require(i);
  }
  if (plan.kept_bytes() != 0 && kept_ == nullptr) kept_ = plan.device().allocate(plan.kept_bytes());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] && outputs_[i].buffer.use_count() == 1) continue;
    const core::TensorType& type = plan.graph().type(plan.graph().outputs()[i]);
    outputs_[i] = new_array(plan.device(), type.dtype, type.shape);
  }
  for (const std::uint32_t i : moving_) {
    addresses_[i] = address_of_storage(plan.storages()[plan.operands()[i]]);
    addresses_[i].offset += plan.shifts()[i];
  }
  find_due_packings();
}

// Weights are packed when they are not those that were packed last.
void Session::find_due_packings() {
  packs_states_ = false;
  for (std::size_t i = 0; i < packed_.size(); ++i) {
    const Packing& packing = executable_->packings()[i];
    if (packing.input == Packing::constant || !inputs_[packing.input]) continue;
    const core::State& state = *executable_->graph().inputs()[packing.input].state;
    Packed& last = packed_[i];
    last.due = last.due || last.revision != state.revision() || last.buffer != inputs_[packing.input].buffer.get();
    last.revision = state.revision();
    last.buffer = inputs_[packing.input].buffer.get();
    packs_states_ = packs_states_ || last.due;
  }
}

bool Session::holds_packed(std::uint32_t input) const {
  if (!releases_states_ || kept_ == nullptr || !executable_->is_only_packed(input)) return false;
  const std::uint64_t revision = executable_->graph().inputs()[input].state->revision();
  for (std::size_t i = 0; i < packed_.size(); ++i) {
    const bool stale = packed_[i].due || packed_[i].revision != revision;
    if (executable_->packings()[i].input == input && stale) return false;
  }
  return true;
}

// One after the other, so that weights are not all held twice at once.
void Session::run_packing() {
  for (std::size_t i = 0; i < executable_->steps().size(); ++i) {
    launch(i);
    const ExecutableStep& step = executable_->steps()[i];
    if (step.releases != UINT32_MAX && is_due(step)) release_contents(step);
  }
}

void Session::release_contents(const ExecutableStep& step) {
  const Packing& packing = executable_->packings()[step.packs];
  core::State& state = *executable_->graph().inputs()[packing.input].state;
  inputs_[packing.input] = {};
  const auto again = [path = packing.path, kept = kept_, offset = executable_->storages()[packing.storage].offset] {
    return unpacked(*path, kept->at(offset).pointer());
  };
  const core::Mode mode = state.held().mode();
  const core::Array released = state.release({mode, again, 0});
  if (released) released.buffer->device()->discard(*released.buffer);
}

void Session::note_packed() {
  for (Packed& each : packed_) each.due = false;
}

bool Session::is_due(const ExecutableStep& step) const { return step.packs == UINT32_MAX || packed_[step.packs].due; }

core::LaunchAddresses Session::launch_addresses(std::size_t index) const {
  const ExecutableStep& step = executable_->steps()[index];
  const core::Address* operands = addresses_.data() + step.first_operand;
  return {{operands, step.input_count}, {operands + step.input_count, step.output_count}, workspaces_[index]};
}

void Session::launch(std::size_t index) const {
  const ExecutableStep& step = executable_->steps()[index];
  if (!is_due(step)) return;
  const core::LaunchAddresses given = launch_addresses(index);
  step.kernel->launch(given.inputs, given.outputs, given.workspace);
}

void Session::launch_steps() {
  const std::span<const ExecutableStep> steps = executable_->steps();
  std::size_t next = 0;
  for (const std::size_t joined : executable_->joined()) {
    for (; next < joined; ++next) launch(next);
    steps[next].kernel->launch_joined(launch_addresses(next), *steps[next + 1].kernel, launch_addresses(next + 1));
    next += 2;
  }
  for (; next < steps.size(); ++next) launch(next);
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
  if (!milliseconds_.empty()) {
    run_timed();
  } else if (executable_->is_poisoned() || unplanned_ != 0) {
    run_watched();
  } else {
    const std::size_t before = allocations();
    if (releases_states_ && packs_states_) {
      run_packing();
    } else {
      launch_steps();
    }
    executable_->device().synchronise();
    unplanned_ += allocations() - before;
  }
  note_packed();
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
    const bool due = is_due(executable_->steps()[i]);
    milliseconds_[i] = due ? clock.milliseconds([&] { launch(i); }) : 0;
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
    const std::size_t before = allocations();
    launch(i);
    if (const std::size_t count = allocations() - before; count != 0) {
      const ExecutableStep& step = plan.steps()[i];
      const auto& label = plan.graph().nodes()[step.node].label;
      unplanned_ += count;
      unplanned_by_node_[(label ? *label + "/" : std::string()) + step.name] += count;
    }
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
