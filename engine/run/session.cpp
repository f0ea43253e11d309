// Running an executable: addresses resolved once, only those of inputs and outputs looked up anew each run.
#include "engine/run/session.hpp"

#include "engine/core/text.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"

namespace tyto::run {

Session::Session(std::shared_ptr<const Executable> executable) : executable_(std::move(executable)) {
  const Executable& plan = *executable_;
  if (plan.arena_bytes() != 0) arena_ = plan.device().allocate(plan.arena_bytes());
  if (plan.host_bytes() != 0) host_arena_ = cpu_device().allocate(plan.host_bytes());
  inputs_.resize(plan.graph().inputs().size());
  outputs_.resize(plan.graph().outputs().size());
  addresses_.resize(plan.operands().size());
  for (std::uint32_t i = 0; i < plan.operands().size(); ++i) {
    const Storage& storage = plan.storages()[plan.operands()[i]];
    if (storage.source == Source::input || storage.source == Source::output) {
      moving_.push_back(i);
    } else {
      addresses_[i] = address_of_storage(storage);
    }
  }
  for (const ExecutableStep& step : plan.steps()) {
    workspaces_.push_back(step.workspace == UINT32_MAX ? core::Address()
                                                       : address_of_storage(plan.storages()[step.workspace]));
  }
}

core::Address Session::address_of_storage(const Storage& storage) const {
  switch (storage.source) {
    case Source::arena: return {arena_ ? arena_->memory() : nullptr, storage.offset};
    case Source::host: return {host_arena_ ? host_arena_->memory() : nullptr, storage.offset};
    case Source::constant: return address_of(executable_->constants()[storage.index]);
    case Source::input: {
      const core::Array& array = inputs_[storage.index];
      return {array.buffer->memory(), static_cast<std::size_t>(array.view.offset) * size_of(array.dtype)};
    }
    case Source::output: return address_of(outputs_[storage.index]);
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
  inputs_[input] = packed(to_device(array, executable_->device()));
}

void Session::release_inputs() { inputs_.assign(inputs_.size(), {}); }

void Session::require(std::uint32_t input) const {
  if (inputs_[input]) return;
  const core::Graph& graph = executable_->graph();
  const core::GraphInput& slot = graph.inputs()[input];
  throw GraphError(core::text("input '", slot.name, "' of shape ", graph.type(slot.port).shape, " was given no value"));
}

void Session::refresh() {
  const Executable& plan = *executable_;
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) require(i);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] && outputs_[i].buffer.use_count() == 1) continue;
    const core::TensorType& type = plan.graph().type(plan.graph().outputs()[i]);
    outputs_[i] = new_array(plan.device(), type.dtype, type.shape);
  }
  for (const std::uint32_t i : moving_) addresses_[i] = address_of_storage(plan.storages()[plan.operands()[i]]);
}

void Session::run() {
  refresh();
  const std::span<const ExecutableStep> steps = executable_->steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ExecutableStep& step = steps[i];
    const core::Address* operands = addresses_.data() + step.first_operand;
    step.kernel->launch({operands, step.input_count}, {operands + step.input_count, step.output_count}, workspaces_[i]);
  }
  executable_->device().synchronise();
}

}  // namespace tyto::run
