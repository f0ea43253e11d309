// SPDX-License-Identifier: MIT
// Tracing: one iterative traversal in post-order, so that chains of a million nodes are no deeper than any other graph.
#include "engine/graph/trace.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/graph/builder.hpp"
#include "core/graph/held_constant.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/released_versions.hpp"
#include "core/value/text.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/random.hpp"
#include "engine/graph/state.hpp"
#include "engine/run/devices.hpp"

namespace tyto::run {

using core::Node;
using core::OpId;
using core::Port;

namespace {

std::shared_ptr<core::State> state_of(const Node& node) {
  return std::get<core::VersionAttributes>(node.attributes()).state.lock();
}

// Symbols with a label are placeholders; all others are parameters of recorded functions or bodies.
[[noreturn]] void refuse_lost(const Node& symbol) {
  if (symbol.label() == nullptr) refuse_leaked();
  core::throw_error<GraphError>(
      "placeholder '", *symbol.label(), "' of shape ", symbol.results()[0].type.shape,
      " can be given no value, since nobody holds it any more, as when it was made in a "
      "function that has returned; keep it and list it among the inputs of the graph, or make "
      "it an argument of the function");
}

class Tracer {
 public:
  explicit Tracer(const TraceRequest& request) : request_(request) {}

  Traced run() {
    for (const auto& state : request_.inputs) (void)input_of(state);
    if (request_.captured) add_captured(*request_.captured);
    std::vector<Value> roots(request_.outputs.begin(), request_.outputs.end());
    for (const StateUpdate& update : request_.updates) roots.push_back(core::resolve(update.second));
    for (Value& root : roots) root = core::resolve(root);
    roots.insert(roots.end(), request_.effects.begin(), request_.effects.end());
    settle_surroundings(roots);
    for (const Value& root : roots) visit(root.node());
    if (request_.captured || std::ranges::any_of(order_, acts)) order_as_recorded();
    number_draws();
    build();
    for (std::size_t i = 0; i < request_.outputs.size(); ++i) builder_.add_output(port_of(roots[i]));
    for (std::size_t i = 0; i < request_.updates.size(); ++i) {
      const Port value = port_of(roots[request_.outputs.size() + i]);
      builder_.add_update(input_of(request_.updates[i].first), value);
    }
    builder_.set_draws(request_.sequence ? generator().draws - request_.sequence->draws : draws_.size());
    Traced traced{builder_.finish(), std::move(arguments_)};
    traced.arguments.resize(traced.graph.inputs().size());
    return traced;
  }

 private:
  // A node whose contents are there. What gradients track of a bound state is the state, not its contents.
  bool has_contents(const Node& node) const {
    if (node.op() == OpId::alias && !node.inputs().empty() && is_bound_state(*node.inputs()[0].node())) return false;
    // In a region, what depends on a number that is captured for its gradient is computed from it.
    if (request_.captured && node.tracked() && !node.inputs().empty()) return false;
    return node.evaluated();
  }

  void add_captured(std::span<const Value> values) {
    for (const Value& value : values) {
      core::GraphInput input;
      input.name = core::text("capture ", captured_.size() + 1);
      captured_[value.node()].emplace_back(value.output(),
                                           builder_.add_input(core::result_of(value).type, std::move(input)));
      arguments_.emplace_back();
    }
  }
  bool is_captured(const Node& node) const { return !captured_.empty() && captured_.contains(&node); }

  // A node whose contents are taken, not computed.
  bool is_leaf(const Node& node) const {
    return is_captured(node) || has_contents(node) ||
           (node.op() == OpId::read && (node.inputs().empty() || is_bound_state(node)));
  }

  // A version that refers to the state as it is when the graph runs: the symbol of a placeholder or of a state read
  // in a compiled function; in an explicit graph the newest version of any state.
  bool is_bound_state(const Node& node) const {
    if (node.op() != OpId::read) return false;
    const auto state = state_of(node);
    if (state == nullptr || state == generator_state()) return false;
    if (node.symbolic() && node.inputs().empty()) return true;
    if (!request_.bind_states || request_.since != 0) return false;
    const Value current = state->held().version;
    return current && current.node() == &node;
  }

  bool is_draw_key(const Node& node) const {
    return request_.bind_states && node.op() == OpId::read && state_of(node) == generator_state();
  }

  // Evaluates what was recorded before `since` and is still pending, so that it is captured instead of repeated.
  void settle_surroundings(std::span<const Value> roots) {
    if (request_.since == 0 || request_.captured) return;
    std::vector<Value> pending;
    std::unordered_map<const Node*, bool> seen;
    std::vector<Node*> stack;
    for (const Value& root : roots) stack.push_back(root.node());
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      if (!seen.emplace(node, true).second || is_leaf(*node)) continue;
      if (node->sequence() < request_.since && !node->symbolic()) {
        pending.emplace_back(node, 0);
        continue;
      }
      for (const Value& input : node->inputs()) stack.push_back(input.node());
    }
    if (!pending.empty()) evaluate(pending);
  }

  void visit(Node* root) {
    struct Frame {
      Node* node;
      std::size_t next;
    };
    if (!place_.emplace(root, 0).second) return;
    std::vector<Frame> stack{{root, 0}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto inputs = is_leaf(*frame.node) ? std::span<const Value>() : frame.node->inputs();
      if (frame.next < inputs.size()) {
        Node* input = inputs[frame.next++].node();
        if (place_.emplace(input, 0).second) stack.push_back({input, 0});
        continue;
      }
      order_.push_back(frame.node);
      stack.pop_back();
    }
  }

  static bool acts(const Node* node) { return core::definition(*node).is(core::Traits::effect); }

  // A region's nodes: gradients replay them and add up in the order of its lines. What has an effect has it in the
  // order written.
  void order_as_recorded() {
    std::ranges::sort(order_, {}, [](const Node* node) { return node->sequence(); });
  }

  // The draws of a graph are numbered in the order in which they were recorded.
  void number_draws() {
    for (const Node* node : order_) {
      if (is_draw_key(*node)) draws_.emplace_back(node->sequence(), node);
    }
    std::sort(draws_.begin(), draws_.end());
  }

  std::int64_t number_of_draw(const Node& key) const {
    if (request_.sequence) {
      return static_cast<std::int64_t>(draw_of_key(key.results()[0].array) - request_.sequence->draws);
    }
    return std::lower_bound(draws_.begin(), draws_.end(),
                            std::pair<std::uint64_t, const Node*>(key.sequence(), nullptr)) -
           draws_.begin();
  }

  std::uint32_t input_of(const std::shared_ptr<core::State>& state) {
    const auto [place, fresh] = inputs_.emplace(state.get(), 0);
    if (fresh) {
      const bool generator = state == generator_state();
      builder_.add_input(state->type(), {core::no_port, state->name(), request_.captured ? nullptr : state, generator});
      place->second = static_cast<std::uint32_t>(builder_.graph().inputs().size() - 1);
      arguments_.emplace_back();
    }
    return place->second;
  }

  Port input_port(const std::shared_ptr<core::State>& state) {
    if (!inputs_.contains(state.get())) {
      if (request_.captured) {
        if (state->kind() == core::State::Kind::parameter) refuse_leaked();
        core::throw_error<GraphError>("'", state->name(),
                                      "' is made inside the body of a loop or branch; make it before and use it there");
      }
    }
    const std::uint32_t input = input_of(state);  // may add one, so it comes before the look at the list
    return builder_.graph().inputs()[input].port;
  }

  // Regions and other devices are given contents.
  bool keeps_held_constants() const {
    return request_.capture_constants && request_.bind_states && !request_.captured &&
           &current_device() == &cpu_device();
  }

  Port capture(const core::Array& array) {
    // An explicit graph keeps them, packed or not.
    if (keeps_held_constants() && request_.since == 0) return add_constant(builder_, array);
    if (request_.capture_constants || array.buffer == nullptr) return builder_.add_constant(array);
    core::GraphInput input;
    input.name = core::text("argument ", arguments_.size());
    const Port port = builder_.add_input({array.dtype, array.view.shape, false}, std::move(input));
    arguments_.push_back(array);
    return port;
  }

  Port port_of(const Value& value) const {
    if (is_captured(*value.node())) {
      for (const auto& [output, port] : captured_.at(value.node())) {
        if (output == value.output()) return port;
      }
    }
    return place_.at(value.node()) + value.output();
  }

  void build() {
    std::vector<Port> inputs;
    std::vector<core::TensorType> types;
    for (Node* node : order_) place_[node] = add(*node, inputs, types);
  }

  // The operand that holds the key by which the node's draws are numbered.
  static std::optional<std::size_t> key_operand(const Node& node) {
    if (core::definition(node).is(core::Traits::random)) return 0;
    if (node.op() == OpId::branch && std::get<core::BranchAttributes>(node.attributes()).keyed) return 1;
    if (node.op() != OpId::loop) return {};
    const auto& loop = std::get<core::IterationAttributes>(node.attributes());
    if (!loop.keyed) return {};
    return std::size_t{loop.counted} + std::size_t{loop.tested};
  }

  Port add(Node& node, std::vector<Port>& inputs, std::vector<core::TensorType>& types) {
    if (is_captured(node)) return core::no_port;
    if (is_draw_key(node)) return input_port(generator_state());
    if (is_bound_state(node)) return input_port(state_of(node));
    if (node.op() == OpId::read && node.inputs().empty() && node.symbolic()) refuse_lost(node);
    if (core::holder_of(node) && keeps_held_constants()) {
      return builder_.add(OpId::constant, node.shared_attributes(), {}, {&node.results()[0].type, 1}, nullptr);
    }
    if (has_contents(node)) {
      // Several results: each is captured; they get consecutive ports since nothing is added between.
      const Port first = capture(core::contents_of(Value(&node, 0)));
      for (std::uint32_t i = 1; i < node.results().size(); ++i) capture(node.result(i).array);
      return first;
    }
    inputs.clear();
    types.clear();
    for (const Value& input : node.inputs()) inputs.push_back(port_of(input));
    for (const core::Result& result : node.results()) types.push_back(result.type);
    std::shared_ptr<const core::Attributes> attributes = node.shared_attributes();
    if (const std::optional<std::size_t> key = key_operand(node); key && is_draw_key(*node.inputs()[*key].node())) {
      core::Attributes numbered = *attributes;
      const std::int64_t draw = number_of_draw(*node.inputs()[*key].node());
      if (auto* random = std::get_if<core::RandomAttributes>(&numbered)) random->draw = draw;
      if (auto* branch = std::get_if<core::BranchAttributes>(&numbered)) branch->draw = draw;
      if (auto* loop = std::get_if<core::IterationAttributes>(&numbered)) loop->draw = draw;
      attributes = std::make_shared<const core::Attributes>(std::move(numbered));
    }
    return builder_.add(node.op(), std::move(attributes), inputs, types, node.label());
  }

  const TraceRequest& request_;
  core::GraphBuilder builder_;
  std::vector<core::Array> arguments_;
  std::unordered_map<const Node*, Port> place_;
  std::unordered_map<const core::State*, std::uint32_t> inputs_;
  std::unordered_map<const Node*, std::vector<std::pair<std::uint32_t, Port>>> captured_;  // by node: outputs
  std::vector<Node*> order_;
  std::vector<std::pair<std::uint64_t, const Node*>> draws_;
};

}  // namespace

[[noreturn]] void refuse_leaked() {
  throw GraphError(
      "a tensor made while a function or the body of a loop or branch was recorded is used outside of it; return it");
}

Traced trace(const TraceRequest& request) { return Tracer(request).run(); }

std::vector<Value> captures_of(std::span<const Value> roots, std::uint64_t since, std::span<const Value> standing_in) {
  std::vector<Value> captured;
  std::unordered_map<const Node*, bool> seen;
  std::vector<Value> stack(roots.rbegin(), roots.rend());
  while (!stack.empty()) {
    const Value value = std::move(stack.back());
    stack.pop_back();
    const Node& node = *value.node();
    // A number is a part of the region, unless a gradient with respect to it is taken.
    const bool number =
        node.mode() == core::Mode::neutral && !node.tracked() && (node.inputs().empty() || node.evaluated());
    const bool stands_in = std::ranges::any_of(standing_in, [&](const Value& each) { return same_value(each, value); });
    if (stands_in || (node.sequence() < since && !number)) {
      const bool known = std::ranges::any_of(captured, [&](const Value& each) { return same_value(each, value); });
      if (!known) captured.push_back(value);
      continue;
    }
    if (number || !seen.emplace(&node, true).second) continue;
    for (auto input = node.inputs().rbegin(); input != node.inputs().rend(); ++input) stack.push_back(*input);
  }
  return captured;
}

namespace {
thread_local constinit TraceInProgress* innermost_trace = nullptr;
}

constinit thread_local int open_vmaps = 0;
bool trace_in_progress() { return innermost_trace != nullptr; }
TraceInProgress::TraceInProgress(Of traced, void* scope)
    : traced_(traced), scope_(scope), outer_(std::exchange(innermost_trace, this)) {}

void* TraceInProgress::innermost_scope() {
  const TraceInProgress* trace = innermost_trace;
  while (trace != nullptr && trace->scope_ == nullptr) trace = trace->outer_;
  return trace == nullptr ? nullptr : trace->scope_;
}

// The arms of a branch end in the order in which they began.
TraceInProgress::~TraceInProgress() {
  TraceInProgress** link = &innermost_trace;
  while (*link != this) link = &(*link)->outer_;
  *link = outer_;
}

void note_effect(const Value& value) {
  if (innermost_trace == nullptr) return;
  if (innermost_trace->traced_ == TraceInProgress::Of::region) {
    core::throw_error<GraphError>(core::definition(*value.node()).name,
                                  ": the body of a loop or branch cannot communicate, since processes may run it "
                                  "differently often; call it before or after");
  }
  innermost_trace->effects_.push_back(value);
}

}  // namespace tyto::run
