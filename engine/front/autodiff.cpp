// SPDX-License-Identifier: MIT
// Reverse mode over values: a traversal from results to tracked inputs that emits gradient rules in the values' own
// mode.
#include "tyto/autodiff.hpp"
#include "core/graph/op_ids.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/graph/builder.hpp"
#include "core/graph/custom.hpp"
#include "core/graph/label.hpp"
#include "core/graph/released_versions.hpp"
#include "core/graph/state_observation.hpp"
#include "core/graph/tracked_reads.hpp"
#include "core/value/text.hpp"
#include "engine/graph/state.hpp"
#include "engine/run/eager_watch.hpp"
#include "ops/define.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace detail {

using core::Node;
using core::OpId;

namespace {

using AnyTensor = Tensor<Any>;

std::vector<core::Label> labels_of_gradients() {
  std::vector<core::Label> labels;
  for (const core::OpDef& def : core::op_table()) {
    labels.push_back(std::make_shared<const std::string>("gradient of " + std::string(def.name)));
  }
  return labels;
}

/// "LABEL/gradient of OP".
core::Label gradient_label(const Node& node) {
  static const std::vector<core::Label> unlabelled = labels_of_gradients();
  const core::Label& own = unlabelled[static_cast<std::size_t>(node.op())];
  if (node.label() == nullptr) return own;
  // A layer's operators come again in each step of an unrolled loop: the label of a few is kept.
  struct Kept {
    core::Label of, label;
    OpId op;
  };
  static std::mutex mutex;
  static auto* const recent = new std::array<Kept, 64>();  // of all threads, whose memory of their own is scarce
  const std::lock_guard lock(mutex);
  const auto address = reinterpret_cast<std::uintptr_t>(node.label().get());
  Kept& kept = (*recent)[(address / alignof(std::max_align_t) + static_cast<std::size_t>(node.op())) % recent->size()];
  if (kept.of != node.label() || kept.op != node.op()) {
    kept = {node.label(), core::LabelScope::joined(node.label(), *own), node.op()};
  }
  return kept.label;
}

/// Applies the operator's gradient rule to the gradients of its results.
std::vector<Value> gradients_of_inputs(const Node& node, const core::GradientContext& context) {
  // Labels are needed in eager mode only where results of operators are checked.
  std::optional<core::LabelScope> scope;
  if (node.mode() == core::Mode::lazy || run::eager_watch != 0) scope.emplace(gradient_label(node));
  try {
    return core::definition(node).gradient(context);
  } catch (...) {
    // Without a layer the message says enough: the rule of an operator that the user called.
    if (node.label() == nullptr || node.label()->starts_with("gradient of ")) throw;
    core::rethrow_with_label(gradient_label(node));
  }
}

struct BackwardPass {
  std::vector<Node*> nodes;                                 // from results to targets
  std::unordered_map<Node*, std::vector<Value>> gradients;  // of each node's results, empty for none yet
};

void add(BackwardPass& backward, const Value& target, const Value& gradient) {
  std::vector<Value>& held = backward.gradients[target.node()];
  held.resize(target.node()->results().size());
  Value& sum = held[target.output()];
  sum = sum ? Value(AnyTensor(sum) + AnyTensor(gradient)) : gradient;
}

// Every tracked node that the results depend on, youngest first: consumers before producers.
void collect(BackwardPass& backward, std::span<const Value> results, std::span<const Value> targets) {
  std::unordered_map<const Node*, bool> seen;
  for (const Value& target : targets) seen[target.node()] = true;
  std::vector<Node*> stack;
  for (const Value& result : results) stack.push_back(result.node());
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    // A value by which an enclosing gradient is taken has released its input: it is a leaf like any other.
    if (!node->tracked() || node->inputs().empty() || !seen.emplace(node, true).second) continue;
    backward.nodes.push_back(node);
    for (const Value& input : node->inputs()) stack.push_back(input.node());
  }
  std::sort(backward.nodes.begin(), backward.nodes.end(),
            [](const Node* a, const Node* b) { return a->sequence() > b->sequence(); });
}

// Sums of floating-point numbers depend on their order. Loops and branches go on with what consumers of their operands
// that come after them have added up, as the same lines in eager mode do.
bool continues_sums(const Node& node) { return node.op() == OpId::loop || node.op() == OpId::branch; }

// The last place of each operand: one that a node takes twice has one sum, which the last place goes on with.
std::vector<bool> last_places(std::span<const Value> inputs) {
  std::set<std::pair<const Node*, std::uint32_t>> seen;
  std::vector<bool> last(inputs.size());
  for (std::size_t i = inputs.size(); i-- > 0;) last[i] = seen.emplace(inputs[i].node(), inputs[i].output()).second;
  return last;
}

std::vector<Value> sums_of(const BackwardPass& backward, std::span<const Value> inputs, const std::vector<bool>& last) {
  std::vector<Value> sums(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!last[i]) continue;
    const auto found = backward.gradients.find(inputs[i].node());
    if (found != backward.gradients.end()) sums[i] = found->second[inputs[i].output()];
  }
  return sums;
}

void apply_rule(BackwardPass& backward, Node& node, core::TapeId tape) {
  const auto found = backward.gradients.find(&node);
  if (found == backward.gradients.end()) return;
  const std::vector<Value> gradients = std::move(found->second);
  backward.gradients.erase(found);
  std::vector<Value> results;
  for (std::uint32_t i = 0; i < node.results().size(); ++i) results.emplace_back(&node, i);
  const std::size_t count = node.inputs().size();
  const auto needed = std::make_unique<bool[]>(count);
  for (std::size_t i = 0; i < count; ++i) needed[i] = node.inputs()[i].node()->tracked();
  const std::vector<Value> inputs(node.inputs().begin(), node.inputs().end());
  const auto included = std::make_unique<bool[]>(count);
  std::vector<Value> so_far;
  std::vector<bool> last;
  if (continues_sums(node)) {
    last = last_places(inputs);
    so_far = sums_of(backward, inputs, last);
  }
  const core::TapePause pause(tape);
  const std::vector<Value> found_gradients = gradients_of_inputs(
      node, {node.attributes(), inputs, results, gradients, {needed.get(), count}, so_far, {included.get(), count}});
  for (std::size_t i = 0; i < found_gradients.size(); ++i) {
    if (!included[i] || !last[i]) continue;
    std::vector<Value>& held = backward.gradients[inputs[i].node()];
    held.resize(inputs[i].node()->results().size());
    held[inputs[i].output()] = found_gradients[i];
  }
  for (std::size_t i = 0; i < found_gradients.size(); ++i) {
    if (found_gradients[i] && needed[i] && !(included[i] && last[i])) add(backward, inputs[i], found_gradients[i]);
  }
}

// Has its contents at once like every eager node, but keeps the state that they belong to.
Value alias_of_state(core::Mode mode, const Value& version) {
  Value input = version;
  Value alias(new Node(OpId::alias, mode, nullptr, {&input, 1}, {&core::result_of(version).type, 1}), 0);
  alias.node()->result(0).array = core::contents_of(version);
  return alias;
}

}  // namespace

Tape::Tape() : id_(core::open_tape()) {}

Value Tape::track(const Value& value) { return track_beside(value, {}); }

Value Tape::track_beside(const Value& value, const std::vector<Value>& beside) {
  core::require("grad", value);
  const Value current = core::resolve(value);
  if (!is_inexact(current.dtype())) {
    core::throw_error<TypeError>("grad: a gradient with respect to a tensor of ", current.dtype(),
                                 " does not exist; {1.0, 2.0} makes one of f32, {1, 2} one of integers");
  }
  // The same thing listed twice has the whole gradient both times.
  for (const Value& target : targets_) {
    if (!same_value(target, current)) continue;
    targets_.push_back(current);
    return current;
  }
  const core::Mode mode = std::max(core::mode_of(beside), current.node()->mode());
  const bool of_state = current.node()->op() == OpId::read && current.node()->evaluated() && mode != core::Mode::lazy;
  Value alias = of_state
                    ? alias_of_state(mode, current)
                    : core::emit(mode, OpId::alias, core::NoAttributes{}, {core::cast_to(current, current.dtype())});
  if (alias.node()->tape() == 0) alias.node()->set_tape(id_);
  targets_.push_back(alias);
  return alias;
}

void Tape::track_state(const Value& handle, const std::vector<Value>& beside) {
  core::require("value_and_grad", handle);
  if (handle.node()->op() != OpId::state) {
    throw GraphError(
        "value_and_grad: the parameters must be variables (Tensor::variable); `w = ...` makes a plain tensor of such a "
        "name: write w -= ... or assign(w, ...)");
  }
  const auto& state = std::get<core::StateAttributes>(core::attributes_of(handle)).state;
  const core::UntrainedReads reads;  // until it is tracked
  const Value before = core::resolve(handle);
  state->set_current(track_beside(before, beside));
  states_.emplace_back(handle, before);
}

Tape::~Tape() {
  // A state that was not assigned to meanwhile gets its version back; tracked nodes lose what only the tape needed.
  std::set<std::pair<const Node*, std::uint32_t>> targets;
  for (const Value& target : targets_) targets.emplace(target.node(), target.output());
  for (const auto& [handle, before] : states_) {
    const auto& state = std::get<core::StateAttributes>(core::attributes_of(handle)).state;
    const Value current = state->current();
    if (targets.contains({current.node(), current.output()})) state->set_current(before);
  }
  core::close_tape(id_);
  std::vector<Value> stack = std::move(roots_);
  stack.insert(stack.end(), targets_.begin(), targets_.end());
  for (const Value& version : run::take_recorded_versions()) {
    if (version.node()->tracked()) run::record_version(version);
    else stack.push_back(version);
  }
  while (!stack.empty()) {
    const Value value = std::move(stack.back());
    stack.pop_back();
    Node* node = value.node();
    if (node->tape() == 0 || node->tracked() || !node->evaluated()) continue;
    // A graph recorded from it later needs the state that it is the value of.
    if (node->op() == OpId::alias && !node->inputs().empty() && node->inputs()[0].node()->op() == OpId::read) continue;
    stack.insert(stack.end(), node->inputs().begin(), node->inputs().end());
    node->drop_inputs();
  }
}

std::vector<Value> Tape::gradients(const std::vector<Value>& results, const std::vector<Value>& cotangents) {
  BackwardPass backward;
  std::vector<Value> roots;
  for (const Value& result : results) roots.push_back(core::given("grad", result));
  collect(backward, roots, targets_);
  for (const Value& root : roots) {
    if (roots_.empty() || !same_value(roots_.back(), root)) roots_.push_back(root);
  }
  for (std::size_t i = 0; i < roots.size(); ++i) {
    Value weight;
    if (i < cotangents.size()) {
      core::require("vjp", cotangents[i]);
      if (cotangents[i].shape() != roots[i].shape()) {
        core::throw_error<ShapeError>("vjp: cotangent ", cotangents[i].shape(), " for a result of shape ",
                                      roots[i].shape());
      }
      weight = core::cast_to(cotangents[i], roots[i].dtype());
    } else {
      weight = ones_like(AnyTensor(roots[i]));
    }
    add(backward, roots[i], weight);
  }
  for (Node* node : backward.nodes) apply_rule(backward, *node, id_);
  std::vector<Value> out;
  bool is_constant = true;
  for (const Value& target : targets_) {
    const auto found = backward.gradients.find(target.node());
    const bool reached = found != backward.gradients.end() && found->second[target.output()];
    is_constant = is_constant && !reached;
    out.push_back(reached ? found->second[target.output()] : Value(zeros_like(AnyTensor(target))));
  }
  // A function that reads its variables may be constant in them, as the gradient of a linear function is.
  if (is_constant && !states_.empty() && !core::has_tracked_reads(id_)) {
    core::throw_error<GraphError>("value_and_grad: the function reads none of the ", states_.size(),
                                  " variables that its gradient is asked for, the first of them '",
                                  run::state_behind(states_[0].first, "value_and_grad")->name(),
                                  "'; compute the loss inside of the function, by the model whose parameters() are "
                                  "given, or add sum(parameter) * 0.0 where there is none this time");
  }
  return out;
}

void check_scalar(const char* function, const Value& loss) {
  core::require(function, loss);
  if (element_count(loss.shape()) != 1) {
    core::throw_error<ShapeError>(function, ": the loss must be one number, not of shape ", loss.shape(),
                                  "; take sum or mean, or use jacobian");
  }
  if (!is_floating(loss.dtype())) {
    core::throw_error<TypeError>(function, ": the loss must be floating, not ", loss.dtype());
  }
}

// The gradient of results weighted by w is linear in w; its own gradient along the tangents is the derivative.
std::vector<Value> Tape::push_forward(const std::vector<Value>& results, const std::vector<Value>& tangents) {
  if (targets_.size() != tangents.size()) {
    core::throw_error<GraphError>("jvp: ", tangents.size(), " tangents for ", targets_.size(), " inputs");
  }
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    core::require("jvp", tangents[i]);
    if (tangents[i].shape() == targets_[i].shape()) continue;
    core::throw_error<ShapeError>("jvp: tangent ", tangents[i].shape(), " for an input of shape ", targets_[i].shape());
  }
  Tape outer;
  std::vector<Value> weights;
  for (const Value& result : results) weights.push_back(outer.track(zeros_like(AnyTensor(result))));
  const std::vector<Value> pulled = gradients(results, weights);
  const core::TapePause pause(id_);
  return outer.gradients(pulled, tangents);
}

}  // namespace detail
}  // namespace TYTO_API

namespace tyto TYTO_API {

template <class M>
Tensor<M> stop_gradient(const Tensor<M>& x) {
  const core::UntrainedReads reads;
  return core::emit(core::OpId::stop_gradient, core::NoAttributes{}, {x});
}
TYTO_INSTANTIATE(stop_gradient)

template <class T>
std::function<T(const std::vector<T>&)> custom_gradient(
    std::function<T(const std::vector<T>&)> f,
    std::function<std::vector<T>(const std::vector<T>&, const T&, const T&)> rule) {
  auto op = std::make_shared<core::CustomOperator>();
  op->name = "custom_gradient";
  op->gradient = [rule](std::span<const Value> inputs, std::span<const Value> results,
                        std::span<const Value> gradients) {
    const std::vector<T> in(inputs.begin(), inputs.end());
    const std::vector<T> found = rule(in, T(results[0]), T(gradients[0]));
    return std::vector<Value>(found.begin(), found.end());
  };
  return [f, op](const std::vector<T>& inputs) {
    std::vector<T> plain;
    for (const T& input : inputs) plain.push_back(stop_gradient(input));
    std::vector<Value> operands{f(plain)};
    operands.insert(operands.end(), inputs.begin(), inputs.end());
    return T(core::emit(core::OpId::with_gradient, core::CustomAttributes{op}, operands));
  };
}
#define TYTO_CUSTOM_GRADIENT(M)                                                     \
  template std::function<Tensor<M>(const std::vector<Tensor<M>>&)> custom_gradient( \
      std::function<Tensor<M>(const std::vector<Tensor<M>>&)>,                      \
      std::function<std::vector<Tensor<M>>(const std::vector<Tensor<M>>&, const Tensor<M>&, const Tensor<M>&)>);
TYTO_CUSTOM_GRADIENT(Eager)
TYTO_CUSTOM_GRADIENT(Lazy)
TYTO_CUSTOM_GRADIENT(Any)
#undef TYTO_CUSTOM_GRADIENT

}  // namespace TYTO_API
