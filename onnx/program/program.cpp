// SPDX-License-Identifier: MIT
// Builds programs of graphs and functions, and folds constants.
#include "onnx/program/program.hpp"

#include <algorithm>

#include "onnx/file/element_types.hpp"
#include "onnx/program/node_order.hpp"

namespace tyto::onnx {

namespace {

// An attribute of a call, or the default that the function gives.
const AttributeMessage* argument(const FunctionMessage& function, const NodeMessage& call, std::string_view name) {
  for (const std::vector<AttributeMessage>* list : {&call.attributes, &function.defaults}) {
    for (const AttributeMessage& attribute : *list) {
      if (attribute.name == name) return &attribute;
    }
  }
  return nullptr;
}

// A node of a function's body with the attributes of one call put in; those that neither gives are left out.
NodeMessage instance_of(const NodeMessage& node, const FunctionMessage& function, const NodeMessage& call) {
  NodeMessage instance = node;
  instance.attributes.clear();
  for (const AttributeMessage& attribute : node.attributes) {
    AttributeMessage given = attribute;
    if (!attribute.reference.empty()) {
      const AttributeMessage* found = argument(function, call, attribute.reference);
      if (found == nullptr) continue;
      given = *found;
      given.name = attribute.name;
    } else if (attribute.graph) {
      GraphMessage body = *attribute.graph;
      for (NodeMessage& inner : body.nodes) inner = instance_of(inner, function, call);
      given.graph = std::make_shared<const GraphMessage>(std::move(body));
    }
    instance.attributes.push_back(std::move(given));
  }
  return instance;
}

}  // namespace

template <class Nodes>
void Program::add_nodes(const Nodes& nodes) {
  std::vector<const NodeMessage*> as_listed;
  as_listed.reserve(nodes.size());
  for (const NodeMessage& node : nodes) as_listed.push_back(&node);
  steps_.reserve(nodes.size());
  for (const NodeMessage* node : in_order(weights_.file(), as_listed)) steps_.push_back(step_of(*node));
}

Program::Program(const GraphMessage& graph, OperatorScope scope, Weights& weights, Program* outer)
    : scope_(std::move(scope)), weights_(weights), outer_(outer) {
  std::unordered_map<std::string_view, const TensorMessage*> initial;
  for (const TensorMessage& tensor : graph.initialisers) {
    if (!initial.emplace(tensor.name, &tensor).second) {
      refuse(weights_.file(), "two initialisers are named ", quoted(tensor.name));
    }
    const std::int32_t slot = define(tensor.name);
    if (const std::string why = Weights::unsupported(tensor); !why.empty()) {
      problems_.push_back(core::text("initialiser ", quoted(tensor.name), ": ", why));
    } else {
      scope_.limits->add_weights(core::text(weights_.file(), ": initialiser ", quoted(tensor.name)),
                                 weights_.byte_count(tensor));
      bind(slot, weights_.stored_operand(tensor));
    }
  }
  for (const std::string_view name : graph.sparse_initialisers) {
    define(name);
    problems_.push_back(core::text("initialiser ", quoted(name), ": stored as a sparse tensor"));
  }
  for (const ValueMessage& input : graph.inputs) {
    // Files of the first versions list initialisers among the inputs.
    if (initial.count(input.name) != 0) continue;
    input_slots_.push_back(define(input.name));
    if (outer_ != nullptr) continue;
    if (!input.holds_tensors) {
      problems_.push_back(core::text("input ", quoted(input.name), ": a map, or a sequence of sequences"));
    } else if (!dtype_from(input.element_type)) {
      problems_.push_back(
          core::text("input ", quoted(input.name), ": elements of type ", element_type_name(input.element_type)));
    }
  }
  add_nodes(graph.nodes);
  for (const ValueMessage& output : graph.outputs) {
    const std::int32_t slot = slot_of(output.name);
    if (slot == none) refuse(weights_.file(), "the graph's output ", quoted(output.name), " is computed nowhere");
    output_slots_.push_back(slot);
  }
  find_last_uses();
}

Program::Program(const FunctionMessage& function, const NodeMessage& call, OperatorScope scope, Weights& weights)
    : scope_(std::move(scope)), weights_(weights) {
  if (!function.operator_sets.empty()) scope_.versions.clear();
  for (const OperatorSet& set : function.operator_sets) scope_.versions[canonical_domain(set.domain)] = set.version;
  for (const std::string_view name : function.inputs) input_slots_.push_back(define(name));
  if ((*scope_.budget -= static_cast<std::int64_t>(function.nodes.size())) < 0) {
    refuse(weights_.file(),
           "its functions call one another so often that they make more nodes than the file has bytes");
  }
  for (const NodeMessage& node : function.nodes) instances_.push_back(instance_of(node, function, call));
  add_nodes(instances_);
  for (const std::string_view name : function.outputs) {
    const std::int32_t slot = slot_of(name);
    if (slot == none) {
      refuse(weights_.file(), "function ", quoted(function.name), ": its output ", quoted(name),
             " is computed nowhere");
    }
    output_slots_.push_back(slot);
  }
  find_last_uses();
}

void Program::check_supported() const {
  if (problems_.empty()) return;
  std::string list;
  for (const std::string& problem : problems_) list += "\n  " + problem;
  core::throw_error<IoError>(weights_.file(), ": ", problems_.size(),
                             problems_.size() == 1 ? " thing is" : " things are", " unsupported:", list);
}

std::int32_t Program::define(std::string_view name) {
  const auto slot = static_cast<std::int32_t>(start_.size());
  if (!names_.emplace(name, slot).second) refuse(weights_.file(), "two values are named ", quoted(name));
  start_.emplace_back();
  return slot;
}

// A name that is not of this graph is one of the graph around it, and becomes a slot here that is filled from there.
std::int32_t Program::slot_of(std::string_view name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  const std::int32_t outside = outer_ == nullptr ? none : outer_->slot_of(name);
  if (outside == none) return none;
  const std::int32_t slot = define(name);
  captures_.emplace_back(slot, outside);
  return slot;
}

Program::Step Program::step_of(const NodeMessage& node) {
  Step step;
  step.node = &node;
  for (const std::string_view name : node.inputs) {
    step.inputs.push_back(name.empty() ? none : slot_of(name));
    if (!name.empty() && step.inputs.back() == none) {
      refuse(weights_.file(), described(node), ": its input ", quoted(name), " is computed nowhere");
    }
  }
  const std::string_view domain = canonical_domain(node.domain);
  const FunctionMessage* function = nullptr;
  for (const FunctionMessage& candidate : *scope_.functions) {
    if (candidate.name == node.operator_name && canonical_domain(candidate.domain) == domain &&
        candidate.overload == node.overload) {
      function = &candidate;
    }
  }
  const auto version = scope_.versions.find(domain);
  if (function != nullptr) {
    add_function(step, *function);
  } else if (version == scope_.versions.end()) {
    problems_.push_back(core::text(described(node), ": the file imports no operator set of its domain"));
  } else {
    step.version = version->second;
    step.row = find_operator(domain, node.operator_name, step.version);
    if (step.row == nullptr) {
      problems_.push_back(core::text(described(node), ": no such operator here in version ", step.version));
    }
  }
  for (const AttributeMessage& attribute : node.attributes) {
    if (!attribute.graph) continue;
    auto body = std::make_unique<Program>(*attribute.graph, scope_, weights_, this);
    // An arm of a branch that is never taken may hold anything.
    if (step.row != nullptr && applies_graphs(*step.row)) {
      problems_.insert(problems_.end(), body->problems().begin(), body->problems().end());
    }
    step.bodies[attribute.graph.get()] = std::move(body);
  }
  for (const std::string_view name : node.outputs) step.outputs.push_back(name.empty() ? none : define(name));
  return step;
}

void Program::add_function(Step& step, const FunctionMessage& function) {
  constexpr int deepest = 64;
  OperatorScope scope = scope_;
  if (++scope.depth > deepest) {
    refuse(weights_.file(), described(*step.node), ": functions call one another more than ", deepest, " deep");
  }
  step.function.reset(new Program(function, *step.node, std::move(scope), weights_));
  for (const std::string& problem : step.function->problems()) {
    problems_.push_back(core::text(described(*step.node), ": ", problem));
  }
}

std::vector<std::int32_t> Program::slots_read(const Step& step) const {
  std::vector<std::int32_t> slots;
  slots.reserve(step.inputs.size());
  for (const std::int32_t slot : step.inputs) {
    if (slot != none) slots.push_back(slot);
  }
  for (const auto& [graph, body] : step.bodies) {
    for (const auto& [inside, outside] : body->captures_) slots.push_back(outside);
  }
  return slots;
}

void Program::find_last_uses() {
  std::vector<bool> needed(start_.size(), false);
  for (const std::int32_t slot : output_slots_) needed[static_cast<std::size_t>(slot)] = true;
  for (std::size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    step.last_uses.clear();
    for (const std::int32_t slot : step.outputs) {
      if (slot != none && !needed[static_cast<std::size_t>(slot)]) step.last_uses.push_back(slot);
    }
    for (const std::int32_t slot : slots_read(step)) {
      if (needed[static_cast<std::size_t>(slot)]) continue;
      needed[static_cast<std::size_t>(slot)] = true;
      step.last_uses.push_back(slot);
    }
  }
}

std::vector<std::int32_t> Program::read_by(std::size_t begin, std::size_t end) const {
  std::vector<bool> seen(start_.size(), false);
  std::vector<std::int32_t> slots;
  const auto read = [&](std::int32_t slot) {
    if (seen[static_cast<std::size_t>(slot)]) return;
    seen[static_cast<std::size_t>(slot)] = true;
    slots.push_back(slot);
  };
  for (std::size_t i = begin; i < end; ++i) {
    for (const std::int32_t slot : slots_read(steps_[i])) read(slot);
    for (const std::int32_t slot : steps_[i].outputs) {
      if (slot != none) seen[static_cast<std::size_t>(slot)] = true;
    }
  }
  if (end == steps_.size()) {
    for (const std::int32_t slot : output_slots_) read(slot);
  }
  return slots;
}

void Program::fold() {
  folding_ = true;
  std::vector<Step> left;
  for (Step& step : steps_) {
    const std::vector<std::int32_t> read = slots_read(step);
    const bool known = std::all_of(read.begin(), read.end(),
                                   [&](std::int32_t slot) { return start_[static_cast<std::size_t>(slot)].known; });
    const bool drawn = step.row != nullptr && draws_random_numbers(*step.row);
    // A function may draw random numbers too, and is rarely constant.
    if (!known || drawn || step.function) {
      left.push_back(std::move(step));
      continue;
    }
    const Outputs outputs = apply(step, start_, false);
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i] != none && i < outputs.size()) bind(step.outputs[i], outputs[i]);
    }
  }
  steps_ = std::move(left);
  // Values that only folded steps read are not kept.
  std::vector<bool> needed(start_.size(), false);
  for (const std::int32_t slot : read_by(0, steps_.size())) needed[static_cast<std::size_t>(slot)] = true;
  for (std::size_t slot = 0; slot < start_.size(); ++slot) {
    if (!needed[slot]) start_[slot] = {};
  }
  find_last_uses();
  folding_ = false;
}

}  // namespace tyto::onnx
