// Evaluation: one operator at a time in eager mode; through trace, plan and session in lazy mode.
#include "engine/run/evaluate.hpp"

#include <unordered_map>

#include "engine/core/builder.hpp"
#include "engine/core/device.hpp"
#include "engine/core/text.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/custom_kernel.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/executable_cache.hpp"
#include "engine/run/trace.hpp"

namespace tyto::run {

using core::Node;
using core::OpId;

namespace {

/// Where an operator runs in eager mode: with its first input that has a home elsewhere than the CPU, else here.
core::Device& device_for(std::span<const core::Array> inputs) {
  for (const core::Array& input : inputs) {
    if (input.view.rank() != 0 && input.buffer->device() != &cpu_device()) return *input.buffer->device();
  }
  for (const core::Array& input : inputs) {
    if (input.buffer->device() != &cpu_device()) return *input.buffer->device();
  }
  return inputs.empty() ? current_device() : cpu_device();
}

void apply_view(Node& node, const core::OpDef& def, core::Array input) {
  std::optional<core::View> view = def.view(node.attributes(), input.view);
  if (!view) {
    core::Array copy = new_array(*input.buffer->device(), input.dtype, input.view.shape);
    copy_elements(input, copy);
    input = copy;
    view = def.view(node.attributes(), input.view);
  }
  node.result(0).array = {input.buffer, input.dtype, std::move(*view)};
}

}  // namespace

void apply(Node& node) {
  const core::OpDef& def = core::definition(node);
  std::vector<core::Array> inputs;
  for (const Value& input : node.inputs()) inputs.push_back(contents(input));
  if (def.is(core::Traits::view)) {
    apply_view(node, def, inputs[0]);
    return;
  }
  std::vector<DType> input_types;
  std::vector<DType> output_types;
  for (const core::Array& input : inputs) input_types.push_back(input.dtype);
  for (const core::Result& result : node.results()) output_types.push_back(result.type.dtype);
  core::Device* device = &device_for(inputs);
  const bool custom = node.op() == OpId::custom;
  core::Device* home = device;
  if (custom || !device->supports(node.op(), input_types, output_types)) device = &cpu_device();

  std::vector<core::Operand> operands;
  for (core::Array& input : inputs) {
    input = to_device(input, *device);
    if (def.is(core::Traits::elementwise)) input.view = core::broadcast_to(input.view, node.result(0).type.shape);
    operands.push_back({input.dtype, input.view});
  }
  std::vector<core::Array> outputs;
  std::vector<core::Operand> results;
  for (const core::Result& result : node.results()) {
    outputs.push_back(new_array(*device, result.type.dtype, result.type.shape));
    results.push_back({result.type.dtype, outputs.back().view});
  }
  const core::Step step{node.op(), &node.attributes(), operands, results};
  const std::uint64_t wanted = custom ? ~std::uint64_t{0} : device->wants_dense(step);
  for (std::size_t i = 0; wanted != 0 && i < inputs.size(); ++i) {
    if ((wanted >> std::min<std::size_t>(i, 63) & 1) == 0 || core::is_dense(inputs[i].view)) continue;
    inputs[i] = packed(inputs[i]);
    operands[i].view = inputs[i].view;
  }
  const std::shared_ptr<const core::Kernel> kernel = custom ? custom_kernel(step) : device->prepare(step);
  core::BufferRef workspace;
  if (kernel->workspace() != 0) workspace = device->allocate(kernel->workspace());
  std::vector<core::Address> from;
  std::vector<core::Address> to;
  for (const core::Array& input : inputs) from.push_back(address_of(input));
  for (const core::Array& output : outputs) to.push_back(address_of(output));
  kernel->launch(from, to, {workspace ? workspace->memory() : nullptr, 0});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    node.result(i).array = device == home ? std::move(outputs[i]) : to_device(outputs[i], *home);
  }
}

namespace {

// Values on the way to `roots` that are held from outside: by the user, or by nodes that the roots do not need.
// They get their contents too, so that nothing is computed twice.
std::vector<Value> with_held_values(std::span<const Value> roots) {
  std::vector<Value> wanted;
  std::unordered_map<Node*, std::uint32_t> inner;  // references from inside
  std::vector<Node*> stack;
  std::vector<Node*> order;
  for (const Value& root : roots) {
    if (!inner.contains(root.node())) stack.push_back(root.node());
    ++inner[root.node()];
  }
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    if (node->evaluated()) continue;
    order.push_back(node);
    for (const Value& input : node->inputs()) {
      if (inner[input.node()]++ == 0) stack.push_back(input.node());
    }
  }
  std::unordered_map<Node*, bool> is_root;
  for (const Value& root : roots) is_root[root.node()] = true;
  for (Node* node : order) {
    if (is_root.contains(node)) {
      for (std::uint32_t i = 0; i < node->results().size(); ++i) wanted.emplace_back(node, i);
      continue;
    }
    if ((node->op() == OpId::read && node->inputs().empty()) || node->symbolic() || node->references() <= inner[node])
      continue;
    for (std::uint32_t i = 0; i < node->results().size(); ++i) wanted.emplace_back(node, i);
  }
  return wanted;
}

}  // namespace

void evaluate(std::span<const Value> values) {
  std::vector<Value> roots;
  for (const Value& value : values) {
    const Value& current = core::resolve(value);
    if (current.node()->evaluated()) continue;
    // Numbers of no mode and lone eager nodes need no plan.
    if (current.node()->mode() != core::Mode::lazy) {
      apply(*current.node());
    } else {
      roots.push_back(current);
    }
  }
  if (roots.empty()) return;
  const std::vector<Value> wanted = with_held_values(roots);
  Traced traced = trace(
      {.outputs = wanted, .updates = {}, .inputs = {}, .capture_constants = false, .bind_states = false, .since = 0});
  const std::span<const core::GraphInput> inputs = traced.graph.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].state == nullptr) continue;
    traced.arguments[i] = inputs[i].state->assigned();
    if (!traced.arguments[i]) {
      throw GraphError(core::text("input '", inputs[i].name, "' of shape ", inputs[i].state->type().shape,
                                  " is read before a value was assigned to it"));
    }
  }
  const std::vector<core::Array> results = run_cached(std::move(traced), current_device());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i].node()->result(wanted[i].output()).array = results[i];
  }
  for (const Value& value : wanted) {
    if (!value.node()->tracked() && !value.node()->symbolic()) value.node()->drop_inputs();
  }
}

core::Array contents(const Value& value) {
  const Value current = core::resolve(value);
  if (!current.node()->evaluated()) evaluate({&current, 1});
  return core::result_of(current).array;
}

}  // namespace tyto::run
