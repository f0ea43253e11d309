// SPDX-License-Identifier: MIT
// Evaluation: one operator at a time in eager mode; through trace, plan and session in lazy mode.
#include "engine/graph/evaluate.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/device/collectives.hpp"
#include "core/device/device.hpp"
#include "core/device/process_group.hpp"
#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/released_versions.hpp"
#include "core/value/text.hpp"
#include "engine/graph/executable_cache.hpp"
#include "engine/graph/state.hpp"
#include "engine/graph/trace.hpp"
#include "engine/prepare/kernel_cache.hpp"
#include "engine/prepare/lowering.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/eager_watch.hpp"

namespace tyto::run {

using core::Node;
using core::OpId;

namespace {

using Arrays = std::span<const core::Array* const>;

/// Where an operator runs in eager mode: with its first input that has a home elsewhere than the CPU, else here.
core::Device& device_for(Arrays inputs) {
  if (inputs.empty()) return current_device();
  core::Device* const cpu = &cpu_device();
  core::Device* home = cpu;
  for (const core::Array* input : inputs) {
    core::Device* place = input->buffer->device();
    if (place == cpu) continue;
    if (input->view.rank() != 0) return *place;
    if (home == cpu) home = place;
  }
  return *home;
}

void apply_view(Node& node, const core::OpDef& def, const core::Array& input) {
  std::optional<core::View> view = def.view(node.attributes(), input.view);
  if (view) {
    node.result(0).array = {input.buffer, node.result(0).type.dtype, std::move(*view)};
    return;
  }
  // A dense array may still begin where the view cannot.
  const core::Array copy = new_array(*input.buffer->device(), input.dtype, input.view.shape);
  copy_elements(input, copy);
  node.result(0).array = {copy.buffer, node.result(0).type.dtype, *def.view(node.attributes(), copy.view)};
}

core::Address start_of(const PreparedOperator& prepared, const core::Array& input) {
  if (!prepared.any_start) return address_of(input);
  return {input.buffer->memory(), static_cast<std::size_t>(input.view.offset) * size_of(input.dtype)};
}

/// The inputs as the kernel reads them: copied to its device, and to dense memory for operands that must be dense.
std::vector<core::Array> moved_inputs(const Node& node, const PreparedOperator& prepared, Arrays inputs) {
  std::vector<core::Array> moved;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    core::Array array = to_device(*inputs[i], *prepared.device);
    if (!prepared.copies.empty() && prepared.copies[i] != nullptr) {
      const bool repeated = core::definition(node).is(core::Traits::elementwise);
      const Shape& shape = repeated ? prepared.results[0].view.shape : array.view.shape;
      const core::Array dense = new_array(*prepared.device, array.dtype, shape);
      launch_copy(*prepared.copies[i], *prepared.device, start_of(prepared, array), address_of(dense));
      array = dense;
    }
    moved.push_back(std::move(array));
  }
  return moved;
}

/// A small buffer: a few elements inline, more on the heap.
template <class T>
class SmallBuffer {
 public:
  explicit SmallBuffer(std::size_t count) : count_(count) {
    if (count > few_.size()) many_ = std::make_unique<T[]>(count);
  }
  T& operator[](std::size_t i) { return data()[i]; }
  operator std::span<const T>() { return {data(), count_}; }

 private:
  T* data() { return many_ ? many_.get() : few_.data(); }
  std::size_t count_;
  std::array<T, 4> few_;
  std::unique_ptr<T[]> many_;
};

void launch(Node& node, const PreparedOperator& prepared, Arrays inputs) {
  SmallBuffer<core::Address> from(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) from[i] = start_of(prepared, *inputs[i]);
  const std::size_t count = prepared.results.size();
  SmallBuffer<core::Address> to(count);
  bool zeroed = true;
  try {
    for (std::size_t i = 0; i < count; ++i) {
      const PreparedOperator::Result& result = prepared.results[i];
      core::Array& array = node.result(i).array;
      array.buffer = prepared.device->allocate(result.bytes);
      array.dtype = result.dtype;
      array.view = result.view;
      to[i] = {array.buffer->memory(), 0};
      zeroed = zeroed && array.buffer->began_zeroed();
    }
    core::BufferRef workspace;
    const std::size_t bytes = prepared.kernel->workspace();
    if (bytes != 0) workspace = prepared.device->allocate(bytes);
    const core::Address scratch{workspace ? workspace->memory() : nullptr, 0};
    if (zeroed) {
      prepared.kernel->launch_into_zeros(from, to, scratch);
    } else {
      prepared.kernel->launch(from, to, scratch);
    }
  } catch (...) {
    for (core::Result& result : node.results()) result.array = {};  // nothing was computed
    throw;
  }
}

void apply_prepared(Node& node, const PreparedOperator& prepared, Arrays inputs) {
  if (prepared.direct) {
    launch(node, prepared, inputs);
  } else {
    const std::vector<core::Array> moved = moved_inputs(node, prepared, inputs);
    std::vector<const core::Array*> places;
    for (const core::Array& array : moved) places.push_back(&array);
    launch(node, prepared, places);
  }
  if (prepared.device == prepared.home) return;
  for (core::Result& result : node.results()) result.array = to_device(result.array, *prepared.home);
}

/// A function of the user's may hold anything, and may call operators itself: its kernel is not kept.
bool may_be_kept(const Node& node) {
  return !node.has_attributes() || !std::holds_alternative<core::CustomAttributes>(node.attributes());
}

/// The array of a value, evaluated if need be; no state, as nodes hold versions.
const core::Array& computed(const Value& input) {
  if (!input.node()->evaluated()) evaluate({&input, 1});
  return core::result_of(input).array;
}

}  // namespace

// Made of operators that the device has, as a graph for it would be; false where it has this one itself.
bool apply_lowered(Node& node, const core::OpDef& def, Arrays inputs, core::Device& home) {
  if (def.lower == nullptr || &home == &cpu_device()) return false;
  std::vector<core::TensorType> types, results;
  for (const core::Array* input : inputs) types.push_back({input->dtype, input->view.shape, false});
  for (const core::Result& result : node.results()) results.push_back(result.type);
  if (!lowering_for(home, node.op(), node.attributes(), types, results)) return false;
  std::vector<Value> operands;
  for (const core::Array* input : inputs) operands.push_back(core::constant(core::Mode::eager, *input));
  const std::vector<Value> lowered = def.lower(node.attributes(), operands);
  for (std::size_t i = 0; i < lowered.size(); ++i) node.result(i).array = computed(lowered[i]);
  return true;
}

namespace {

void apply_unwatched(Node& node) {
  const core::OpDef& def = core::definition(node);
  const std::size_t count = node.inputs().size();
  SmallBuffer<const core::Array*> inputs(count);
  SmallBuffer<core::BufferRef> held(count);  // of versions: contents that are referenced are not released
  for (std::size_t i = 0; i < count; ++i) {
    const Value& input = node.inputs()[i];
    if (input.node()->mode() == core::Mode::neutral && input.node()->is_version()) {
      held[i] = core::contents_of(input).buffer;
    }
    inputs[i] = &computed(input);
  }
  if (def.is(core::Traits::view)) {
    apply_view(node, def, *inputs[0]);
    return;
  }
  if (def.is(core::Traits::effect) && core::process_group(0).size() > 1) [[unlikely]]
    core::agree(core::collective_call(node));
  core::Device& home = device_for(inputs);
  if (apply_lowered(node, def, inputs, home)) return;
  if (may_be_kept(node)) {
    apply_prepared(node, prepared_operator(node, inputs, home), inputs);
  } else {
    apply_prepared(node, PreparedOperator(node, inputs, home), inputs);
  }
}

}  // namespace

void apply(Node& node) {
  try {
    apply_unwatched(node);
    if (eager_watch != 0) [[unlikely]]
      watch_result(node);
  } catch (...) {
    core::rethrow_with_label(node.label());
  }
}

namespace {

// For each view among the nodes that repeats elements, as broadcasting does, the tensor that it repeats. The view
// itself is made anew by its readers, which costs nothing, while a dense copy of it may not even fit into memory.
std::unordered_map<const Node*, Value> repeated_tensors(std::span<Node* const> nodes) {
  std::vector<Node*> views;
  for (Node* node : nodes) {
    // A version of a state has contents of its own.
    if (core::definition(*node).is(core::Traits::view) && node->op() != OpId::read) views.push_back(node);
  }
  // Inputs first: they are older.
  std::sort(views.begin(), views.end(), [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
  std::unordered_map<const Node*, Value> repeated;
  for (const Node* view : views) {
    const auto behind = repeated.find(view->inputs()[0].node());
    const Value& source = behind == repeated.end() ? view->inputs()[0] : behind->second;
    if (element_count(source.shape()) < element_count(view->results()[0].type.shape)) repeated.emplace(view, source);
  }
  return repeated;
}

// A view of what is computed, or a view of such a view, needs no graph. False where it is something else.
bool apply_views(Node& node) {
  std::vector<Node*> views;
  for (Node* at = &node; !at->evaluated(); at = at->inputs()[0].node()) {
    const bool view = core::definition(*at).is(core::Traits::view) && at->op() != OpId::read;
    if (!view || at->symbolic() || at->inputs().size() != 1) return false;
    views.push_back(at);
  }
  // The contents of a state may be overwritten.
  const Node& source = *views.back()->inputs()[0].node();
  if (source.op() == OpId::read) return false;
  for (std::size_t i = views.size(); i-- > 0;) {
    Node& view = *views[i];
    apply_view(view, core::definition(view), contents(view.inputs()[0]));
    if (!view.tracked()) view.drop_inputs();
  }
  return true;
}

// A slice that lies dense in what is computed is an argument: slices at ever new places make one graph.
bool is_dense_slice(const Node& node) {
  const Node* const source = node.op() == OpId::slice ? node.inputs()[0].node() : nullptr;
  if (source == nullptr || !source->evaluated() || source->op() == OpId::read) return false;
  return core::is_dense(*core::definition(node).view(node.attributes(), core::contents_of(node.inputs()[0]).view));
}

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
    if (node->evaluated() || (is_dense_slice(*node) && apply_views(*node))) continue;
    order.push_back(node);
    for (const Value& input : node->inputs()) {
      if (inner[input.node()]++ == 0) stack.push_back(input.node());
    }
  }
  std::unordered_set<const Node*> chosen;
  const auto want = [&](Node* node) {
    if (node->evaluated() || !chosen.insert(node).second) return;
    for (std::uint32_t i = 0; i < node->results().size(); ++i) wanted.emplace_back(node, i);
  };
  std::unordered_set<const Node*> is_root;
  for (const Value& root : roots) is_root.insert(root.node());
  const std::unordered_map<const Node*, Value> repeated = repeated_tensors(order);
  for (Node* node : order) {
    if (is_root.contains(node)) {
      want(node);
      continue;
    }
    if (node->symbolic() || node->references() <= inner[node]) continue;
    const auto source = repeated.find(node);
    want(source == repeated.end() ? node : source->second.node());
  }
  return wanted;
}

}  // namespace

void evaluate(std::span<const Value> values) {
  std::vector<Value> roots;
  for (const Value& value : values) {
    const Value current = core::resolve(value);
    if (current.node()->evaluated()) continue;
    // Numbers of no mode and lone eager nodes need no plan.
    if (current.node()->mode() != core::Mode::lazy) {
      apply(*current.node());
    } else if (!apply_views(*current.node())) {
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
      if (inputs[i].state->kind() == core::State::Kind::parameter) {
        throw GraphError(
            "a value is read while the body of a loop or branch is recorded, which happens once; choose by cond() or "
            "where()");
      }
      const std::string& name = inputs[i].name;  // see name_of_argument
      const bool is_argument = name.starts_with("argument ") && name.find_first_not_of("0123456789[]", 9) == name.npos;
      if ((is_kept(*inputs[i].state) || is_argument) && !trace_in_progress()) refuse_leaked();
      core::throw_error<GraphError>("input '", inputs[i].name, "' of shape ", inputs[i].state->type().shape,
                                    trace_in_progress()
                                        ? " is read while a compiled function is recorded, which happens once for all "
                                          "calls and before it has a value; choose by where() instead"
                                        : " is read before a value was assigned to it");
    }
  }
  const std::vector<core::Array> results = run_cached(std::move(traced), current_device());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    core::note_leaf(results[i]);
    wanted[i].node()->result(wanted[i].output()).array = results[i];
  }
  for (const Value& value : wanted) {
    if (!value.node()->tracked() && !value.node()->symbolic()) value.node()->drop_inputs();
  }
}

bool is_known(const Value& value) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> stack{value.node()};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    const bool state = node->op() == OpId::state || node->op() == OpId::read;
    if (state || node->symbolic()) return false;
    if (node->evaluated()) continue;  // a leaf for whoever uses it
    if (core::definition(*node).is(core::Traits::random) || node->op() == OpId::custom) return false;
    for (const Value& input : node->inputs()) stack.push_back(input.node());
  }
  return true;
}

bool is_pending_draw(const Value& value) {
  const Node& node = *value.node();
  return core::definition(node).is(core::Traits::random) && !node.evaluated() && !node.symbolic() && !node.tracked();
}

core::Array contents(const Value& value) {
  const Value current = core::resolve(value);
  if (!current.node()->evaluated()) evaluate({&current, 1});
  return core::contents_of(current);
}

}  // namespace tyto::run
