// SPDX-License-Identifier: MIT
// Makes steps of nodes in one forward pass, with counts of consumers still to come.
#include "engine/prepare/executable_builder.hpp"

#include <algorithm>
#include <utility>

#include "core/device/collectives.hpp"
#include "core/device/process_group.hpp"
#include "core/graph/held_constant.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/hash.hpp"
#include "core/value/text.hpp"
#include "engine/prepare/custom_kernel.hpp"
#include "engine/prepare/graph_passes.hpp"
#include "engine/regions/run/region_kernel.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/packed_weights.hpp"
#include "optimiser/schedule/schedule.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::run {

using core::GraphNode;
using core::OpId;
using core::Port;
using core::View;

namespace {

/// Moves a dense value between the host and the device.
class TransferKernel final : public core::Kernel {
 public:
  TransferKernel(core::Device& device, std::size_t bytes, bool to_host)
      : device_(&device), bytes_(bytes), to_host_(to_host) {}

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address) const override {
    if (to_host_) {
      device_->copy_out(outputs[0].pointer(), inputs[0], bytes_);
    } else {
      device_->copy_in(outputs[0], inputs[0].pointer(), bytes_);
    }
  }

 private:
  core::Device* device_;
  std::size_t bytes_;
  bool to_host_;
};

}  // namespace

ExecutableBuilder::ExecutableBuilder(Executable& target, const CompileOptions& options)
    : target_(target),
      graph_(target.graph_),
      device_(*target.device_),
      host_(cpu_device()),
      split_(&device_ != &host_),
      checks_(checks_plans(options)),
      options_(options) {
  target_.number_check_ = number_check_of(options);
}

std::size_t ExecutableBuilder::bytes_of(Port port) const { return optimiser::bytes_of(graph_, port); }

void ExecutableBuilder::count_consumers() {
  for (const GraphNode& node : graph_.nodes()) {
    for (const Port input : graph_.inputs_of(node)) ++consumers_[input];
  }
  for (const Port output : graph_.outputs()) ++consumers_[output];
  for (const core::GraphUpdate& update : graph_.updates()) ++consumers_[update.port];
}

void ExecutableBuilder::locate_inputs() {
  for (std::uint32_t i = 0; i < graph_.inputs().size(); ++i) {
    const Port port = graph_.inputs()[i].port;
    const std::uint32_t storage = new_storage(StorageKind::input, i, bytes_of(port), graph_.producer(port));
    bind(port, storage, View::dense(graph_.type(port).shape), false);
  }
}

std::uint32_t ExecutableBuilder::new_storage(StorageKind kind, std::uint32_t index, std::size_t bytes,
                                             std::uint32_t node) {
  Storage storage;
  storage.kind = kind;
  storage.index = index;
  storage.bytes = bytes;
  storage.first_instruction = storage.last_step = static_cast<std::uint32_t>(target_.steps_.size());
  if (node != none) {
    const GraphNode& origin = graph_.nodes()[node];
    storage.label = core::described(graph_, origin);
    if (origin.label) storage.label = *origin.label + "/" + storage.label;
  }
  target_.storages_.push_back(std::move(storage));
  storage_consumers_.push_back(0);
  return static_cast<std::uint32_t>(target_.storages_.size() - 1);
}

void ExecutableBuilder::bind(Port port, std::uint32_t storage, View view, bool on_host) {
  (on_host && split_ ? host_location_ : device_location_)[port] = {storage, std::move(view)};
  storage_consumers_[storage] += consumers_[port];
}

void ExecutableBuilder::add_node(std::uint32_t index) {
  const GraphNode& node = graph_.nodes()[index];
  if (node.op == OpId::read && node.input_count == 0) return;  // an input of the graph, placed already
  if (node.op == OpId::constant) {
    const core::Array array = core::contents_of_constant(graph_.attributes(node));
    const bool here = array.buffer->device() == &device_;
    core::Array kept = array;
    if (!here) {
      // Constants of another device are transferred once, whole and dense.
      kept = to_device(array, device_);
    }
    target_.constants_.push_back(kept);
    const std::uint32_t storage =
        new_storage(StorageKind::constant, static_cast<std::uint32_t>(target_.constants_.size() - 1), 0, index);
    bind(node.first_result, storage, kept.view, false);
    return;
  }
  if (core::definition(node.op).is(core::Traits::view)) {
    add_view(node, index);
  } else {
    add_kernel(node, index);
  }
  release_inputs(node);
}

void ExecutableBuilder::release_inputs(const GraphNode& node) {
  for (const Port input : graph_.inputs_of(node)) {
    --consumers_[input];
    for (const auto* places : {&device_location_, &host_location_}) {
      const Location& location = (*places)[input];
      if (location.storage != none) --storage_consumers_[location.storage];
    }
  }
}

void ExecutableBuilder::add_view(const GraphNode& node, std::uint32_t index) {
  const Port input = graph_.inputs_of(node)[0];
  const bool on_host = split_ && device_location_[input].storage == none;
  Location location = location_of(input, on_host);
  const core::OpDef& def = core::definition(node.op);
  std::optional<View> view = def.view(graph_.attributes(node), location.view);
  if (!view) {
    location = dense(input, location, on_host, index);
    view = def.view(graph_.attributes(node), location.view);
  }
  bind(node.first_result, location.storage, std::move(*view), on_host);
}

const ExecutableBuilder::Location& ExecutableBuilder::location_of(Port port, bool on_host) {
  if (!split_) return device_location_[port];
  std::vector<Location>& wanted = on_host ? host_location_ : device_location_;
  if (wanted[port].storage != none) return wanted[port];
  const Location& from = (on_host ? device_location_ : host_location_)[port];
  const std::uint32_t node = graph_.producer(port);
  const Location packed = dense(port, from, !on_host, node);
  const std::uint32_t storage = new_storage(on_host ? StorageKind::host : StorageKind::arena, 0, bytes_of(port), node);
  add_raw_step(std::make_shared<TransferKernel>(device_, bytes_of(port), on_host), {&packed.storage, 1}, {&storage, 1},
               node, on_host ? "to host" : "to device");
  target_.steps_.back().copies = true;
  bind(port, storage, View::dense(graph_.type(port).shape), on_host);
  const DType type = graph_.type(port).dtype;
  note_views({&packed, 1}, {&type, 1}, {&wanted[port], 1}, {&type, 1});
  return wanted[port];
}

ExecutableBuilder::Location ExecutableBuilder::dense(Port port, const Location& location, bool on_host,
                                                     std::uint32_t node) {
  if (core::is_dense(location.view) && location.view.offset == 0) return location;
  Location copy{new_storage(on_host && split_ ? StorageKind::host : StorageKind::arena, 0, bytes_of(port), node),
                View::dense(graph_.type(port).shape)};
  add_copy(port, location, copy, on_host, node);
  return copy;
}

void ExecutableBuilder::add_copy(Port port, const Location& from, const Location& to, bool on_host,
                                 std::uint32_t node) {
  const DType type = graph_.type(port).dtype;
  add_step(OpId::copy, core::no_attributes, on_host, {&from, 1}, {&type, 1}, {&to, 1}, {&type, 1}, node);
  target_.steps_.back().copies = true;
}

void ExecutableBuilder::add_kernel(const GraphNode& node, std::uint32_t index) {
  const core::OpDef& def = core::definition(node.op);
  const std::span<const Port> ports = graph_.inputs_of(node);
  std::vector<DType> input_types;
  std::vector<DType> output_types;
  for (const Port port : ports) input_types.push_back(graph_.type(port).dtype);
  for (std::uint32_t i = 0; i < node.result_count; ++i)
    output_types.push_back(graph_.type(node.first_result + i).dtype);

  const bool custom = node.op == OpId::custom;
  const bool region = holds_regions(node.op);
  const bool on_host = runs_on_host(node);
  if (on_host) target_.fallbacks_.emplace_back(custom ? custom_operator(graph_.attributes(node)).name : def.name);
  std::vector<Location> inputs;
  for (const Port port : ports) inputs.push_back(location_of(port, on_host));
  if (def.is(core::Traits::elementwise)) {
    for (Location& location : inputs)
      location.view = core::broadcast_to(location.view, graph_.type(node.first_result).shape);
  }
  // Kernels that want an input dense get it copied; the question is put with dense results, as they will be.
  std::vector<core::Operand> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back({input_types[i], inputs[i].view});
  std::vector<core::Operand> results;
  for (std::uint32_t i = 0; i < node.result_count; ++i) {
    results.push_back({output_types[i], View::dense(graph_.type(node.first_result + i).shape)});
  }
  const core::Step step{node.op, &graph_.attributes(node), operands, results};
  const std::uint64_t wanted = custom || region ? ~std::uint64_t{0} : (on_host ? host_ : device_).requires_dense(step);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if ((wanted >> std::min<std::size_t>(i, 63) & 1) != 0 && !core::is_dense(inputs[i].view)) {
      inputs[i] = dense(ports[i], inputs[i], on_host, index);
      if (!on_host || !split_) extra_bytes_[index] += in_arena(bytes_of(ports[i]));
    }
  }
  std::vector<Location> outputs;
  for (std::uint32_t i = 0; i < node.result_count; ++i) {
    const Port result = node.first_result + i;
    outputs.push_back(target_location(node, result, inputs, on_host, index));
    bind(result, outputs.back().storage, outputs.back().view, on_host);
  }
  if (region) {
    add_step(node.op, graph_.attributes(node), on_host, inputs, input_types, outputs, output_types, index);
    return;
  }
  if (custom && (on_host || !split_)) {
    std::vector<std::uint32_t> from(inputs.size());
    std::vector<std::uint32_t> to(outputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) operands[i].view = inputs[i].view;
    std::ranges::transform(inputs, from.begin(), &Location::storage);
    std::ranges::transform(outputs, to.begin(), &Location::storage);
    add_raw_step(custom_kernel({node.op, &graph_.attributes(node), operands, results}), from, to, index, "custom");
    note_views(inputs, input_types, outputs, output_types);
    return;
  }
  if (parts_lie_in_place(node, inputs, outputs[0])) return;
  add_step(node.op, graph_.attributes(node), on_host, inputs, input_types, outputs, output_types, index);
}

void ExecutableBuilder::add_step(OpId op, const core::Attributes& attributes, bool on_host,
                                 std::span<const Location> inputs, std::span<const DType> input_types,
                                 std::span<const Location> outputs, std::span<const DType> output_types,
                                 std::uint32_t node) {
  std::vector<core::Operand> from;
  std::vector<core::Operand> to;
  std::vector<std::uint32_t> from_storage;
  std::vector<std::uint32_t> to_storage;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    from.push_back({input_types[i], inputs[i].view});
    from_storage.push_back(inputs[i].storage);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    to.push_back({output_types[i], outputs[i].view});
    to_storage.push_back(outputs[i].storage);
  }
  const bool region = holds_regions(op);
  if (!on_host && split_ && !region && !device_.supports(op, input_types, output_types)) {
    core::throw_error<DeviceError>(device_.properties().name, ": no kernel for ", core::definition(op).name, " on ",
                                   output_types[0]);
  }
  core::Device& device = on_host ? host_ : device_;
  // Kernels that write at the start of their address are given an address further on, regions also for what they read.
  std::vector<std::size_t> shifts(to.size(), 0);
  if (region) {
    shifts.insert(shifts.begin(), from.size(), 0);
    for (std::size_t i = 0; i < from.size(); ++i) {
      shifts[i] = static_cast<std::size_t>(std::exchange(from[i].view.offset, 0)) * size_of(from[i].dtype);
    }
  } else if (!device.writes_strided({op, &attributes, from, to})) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      shifts[i] = static_cast<std::size_t>(std::exchange(to[i].view.offset, 0)) * size_of(to[i].dtype);
    }
  }
  add_raw_step(nullptr, from_storage, to_storage, node, core::definition(op).name.data());
  note_views(inputs, input_types, outputs, output_types);
  std::copy(shifts.begin(), shifts.end(), target_.shifts_.end() - static_cast<std::ptrdiff_t>(shifts.size()));
  const bool there = on_host && split_;
  unprepared_[there].push_back(
      {static_cast<std::uint32_t>(target_.steps_.size() - 1), there, op, &attributes, std::move(from), std::move(to)});
}

// All at once, so that a device that compiles can make one program of them. A kernel's workspace lives for its step; a
// region's consists of blocks with lifetimes of their own.
void ExecutableBuilder::prepare_kernels() {
  std::vector<std::int64_t> most(graph_.nodes().size(), 0);
  for (const bool on_host : {false, true}) {
    const std::vector<UnpreparedStep>& list = unprepared_[on_host];
    std::vector<core::Step> steps;
    std::vector<KnownKernel*> fresh, kernels;
    for (const UnpreparedStep& one : list) {
      const auto [known, is_new] = known_kernel(one);
      kernels.push_back(known);
      if (!is_new) continue;
      const UnpreparedStep& first = known->step;
      const core::Step step{first.op, first.attributes, first.inputs, first.outputs, first.beside_others};
      if (holds_regions(first.op)) {
        known->kernel = known->region = region_kernel(step, on_host ? host_ : device_, options_);
      } else {
        steps.push_back(step);
        fresh.push_back(known);
      }
    }
    std::vector<std::shared_ptr<const core::Kernel>> prepared = (on_host ? host_ : device_).prepare_all(steps);
    for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i]->kernel = std::move(prepared[i]);
    for (std::size_t i = 0; i < list.size(); ++i) {
      target_.steps_[list[i].step].kernel = kernels[i]->kernel;
      target_.steps_[list[i].step].region = kernels[i]->region;
    }
    for (const UnpreparedStep& one : list) {
      ExecutableStep& step = target_.steps_[one.step];
      const std::size_t bytes = step.kernel->workspace();
      if (bytes == 0) continue;
      const std::size_t own = step.region == nullptr ? bytes : 0;
      step.workspace = new_storage(on_host ? StorageKind::host : StorageKind::arena, 0, own, none);
      Storage& workspace = target_.storages_[step.workspace];
      workspace.first_instruction = workspace.last_step = one.step;
      workspace.label = std::string(step.name) + " workspace";
      if (!on_host) most[step.node] = std::max(most[step.node], in_arena(bytes));
    }
  }
  for (std::size_t node = 0; node < most.size(); ++node) extra_bytes_[node] += most[node];
}

void ExecutableBuilder::join_steps() {
  const std::span<const ExecutableStep> steps = target_.steps_;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (lane_of_[i] != lane_of_[i + 1] || !steps[i].kernel->joins(*steps[i + 1].kernel)) continue;
    target_.steps_[i++].joins_next = true;
  }
}

std::pair<ExecutableBuilder::KnownKernel*, bool> ExecutableBuilder::known_kernel(const UnpreparedStep& step) {
  const std::uint32_t node = target_.steps_[step.step].node;
  std::size_t hash = core::mixed_hash(static_cast<std::uint64_t>(step.op), core::hash_of(*step.attributes));
  for (const auto* const list : {&step.inputs, &step.outputs}) {
    for (const core::Operand& operand : *list) {
      hash = core::mixed_hash(hash, static_cast<std::uint64_t>(operand.dtype));
      hash = core::mixed_hash(hash, static_cast<std::uint64_t>(operand.view.offset));
      for (std::size_t axis = 0; axis < operand.view.shape.size(); ++axis) {
        hash = core::mixed_hash(hash, static_cast<std::uint64_t>(operand.view.shape[axis]));
        hash = core::mixed_hash(hash, static_cast<std::uint64_t>(operand.view.strides[axis]));
      }
    }
  }
  const auto same = [](const core::Operand& a, const core::Operand& b) {
    return a.dtype == b.dtype && a.view == b.view;
  };
  const auto [first, last] = known_kernels_.equal_range(hash);
  for (auto each = first; each != last; ++each) {
    const UnpreparedStep& other = each->second.step;
    if (other.on_host == step.on_host && other.beside_others == step.beside_others && other.op == step.op &&
        (!holds_regions(step.op) || each->second.node == node) && *other.attributes == *step.attributes &&
        std::ranges::equal(other.inputs, step.inputs, same) && std::ranges::equal(other.outputs, step.outputs, same)) {
      return {&each->second, false};
    }
  }
  return {&known_kernels_.emplace(hash, KnownKernel{step, node, nullptr, nullptr})->second, true};
}

void ExecutableBuilder::add_raw_step(std::shared_ptr<const core::Kernel> kernel, std::span<const std::uint32_t> inputs,
                                     std::span<const std::uint32_t> outputs, std::uint32_t node, const char* name) {
  const auto now = static_cast<std::uint32_t>(target_.steps_.size());
  ExecutableStep step;
  step.first_operand = static_cast<std::uint32_t>(target_.operands_.size());
  step.input_count = static_cast<std::uint32_t>(inputs.size());
  step.output_count = static_cast<std::uint32_t>(outputs.size());
  step.node = node;
  step.name = name;
  for (const auto list : {inputs, outputs}) {
    for (const std::uint32_t storage : list) {
      target_.operands_.push_back(storage);
      target_.shifts_.push_back(0);
      target_.storages_[storage].last_step = now;
    }
  }
  step.kernel = std::move(kernel);
  target_.steps_.push_back(std::move(step));
}

// Notes the operand views of the step that was added last.
void ExecutableBuilder::note_views(std::span<const Location> inputs, std::span<const DType> input_types,
                                   std::span<const Location> outputs, std::span<const DType> output_types) {
  if (!checks_ && !target_.number_check_.nan && most_lanes() < 2) return;
  const auto note = [&](std::span<const Location> list, std::span<const DType> types) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      target_.operand_views_.push_back({list[i].view, types[i]});
    }
  };
  note(inputs, input_types);
  note(outputs, output_types);
}

bool ExecutableBuilder::is_in_output(const Location& location, std::uint32_t output) const {
  if (location.storage == none || !core::is_dense(location.view) || location.view.offset != 0) return false;
  const Storage& storage = target_.storages_[location.storage];
  return storage.kind == StorageKind::output && storage.index == output;
}

void ExecutableBuilder::finish_outputs() {
  for (std::uint32_t i = 0; i < graph_.outputs().size(); ++i) {
    const Port port = graph_.outputs()[i];
    if (is_in_output(device_location_[port], i)) continue;
    const bool on_host = split_ && device_location_[port].storage == none;
    Location from = location_of(port, on_host);
    if (on_host) from = location_of(port, false);
    const Location to{new_storage(StorageKind::output, i, bytes_of(port), graph_.producer(port)),
                      View::dense(graph_.type(port).shape)};
    add_copy(port, from, to, false, graph_.producer(port));
  }
}

// States not updated in place: all new values first, then all assignments, so that an exchange of two states works.
void ExecutableBuilder::finish_updates() {
  std::vector<Location> values(graph_.updates().size());
  for (std::uint32_t i = 0; i < graph_.updates().size(); ++i) {
    if (updated_in_place_[i]) continue;
    const Port port = graph_.updates()[i].port;
    const Location& location = location_of(port, false);
    const bool own = target_.storages_[location.storage].kind == StorageKind::arena;
    values[i] = location;
    if (own) continue;
    const Location copy{new_storage(StorageKind::arena, 0, bytes_of(port), graph_.producer(port)),
                        View::dense(graph_.type(port).shape)};
    add_copy(port, location, copy, false, graph_.producer(port));
    values[i] = copy;
  }
  for (std::uint32_t i = 0; i < graph_.updates().size(); ++i) {
    if (updated_in_place_[i]) continue;
    const core::GraphUpdate& update = graph_.updates()[i];
    const Location& to = device_location_[graph_.inputs()[update.input].port];
    add_copy(update.port, values[i], to, false, graph_.producer(update.port));
  }
}

// The inputs that a run needs contents of: those that it reads or writes, and every argument.
void ExecutableBuilder::note_inputs() {
  const std::span<const core::GraphInput> inputs = graph_.inputs();
  target_.needed_.assign(inputs.size(), false);
  for (const std::uint32_t operand : target_.operands_) {
    const Storage& storage = target_.storages_[operand];
    if (storage.kind == StorageKind::input) target_.needed_[storage.index] = true;
  }
  for (const core::GraphUpdate& update : graph_.updates()) target_.needed_[update.input] = true;
  target_.packed_inputs_.clear();
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    const core::State* const state = inputs[i].state.get();
    if (state == nullptr || inputs[i].generator || state->kind() == core::State::Kind::placeholder) {
      target_.needed_[i] = true;
    } else if (auto weights = PackedWeights::behind(inputs[i])) {
      target_.packed_inputs_.push_back({i, std::move(weights)});
    }
  }
}

std::size_t Executable::packed_bytes() const {
  std::size_t bytes = 0;
  for (const PackedInput& each : packed_inputs_) {
    bytes += optimiser::bytes_of(graph_, graph_.inputs()[each.input].port);
  }
  return bytes;
}

Executable::Executable(core::Graph graph, core::Device& device, const CompileOptions& options, bool compared)
    : options_(options), device_(&device) {
  if (options.concurrency < 1) {
    core::throw_error<ValueError>("compile: concurrency must be 1 or more, got ", options.concurrency);
  }
  const bool has_others = compared && core::process_group(0).size() > 1;
  core::GraphOutline outline = has_others ? core::outline_of(graph) : core::GraphOutline();
  core::Graph recorded = options.memory_limit != 0 ? graph : core::Graph();
  graph_ = with_packed_inputs(optimised(std::move(graph), device, options, passes_));
  ExecutableBuilder(*this, options).build();
  if (options.memory_limit != 0 && arena_bytes_ > options.memory_limit) fit_into_limit(std::move(recorded));
  collectives_ = core::collective_calls(graph_, order_);
  collectives_.set_outline(std::move(outline));
}

}  // namespace tyto::run
