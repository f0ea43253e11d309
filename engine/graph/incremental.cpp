// SPDX-License-Identifier: MIT
// Chooses the part to run, its inputs and the values that are kept; docs/memory.md explains why this is exact.
#include "engine/graph/incremental.hpp"

#include <algorithm>
#include <utility>

#include "engine/prepare/graph_passes.hpp"
#include "engine/run/packed_weights.hpp"
#include "optimiser/incremental/partial_graph.hpp"

namespace tyto::run {

using core::Port;

namespace {

bool is_state(const core::GraphInput& input) {
  return input.state != nullptr && !input.generator && input.state->kind() != core::State::Kind::placeholder;
}

}  // namespace

IncrementalSession::IncrementalSession(std::shared_ptr<const Executable> whole)
    : executable_(std::move(whole)), whole_(executable_) {
  const core::Graph& graph = executable_->graph();
  given_.resize(graph.inputs().size());
  for (const core::GraphInput& input : graph.inputs()) states_.push_back(is_state(input) ? input.state.get() : nullptr);
  for (const PackedInput& packed : executable_->packed_inputs()) states_[packed.input] = &packed.weights->weights();
  changed_.assign(graph.inputs().size(), true);
  written_.assign(graph.inputs().size(), false);
  for (const core::GraphUpdate& update : graph.updates()) written_[update.input] = true;
  revisions_.assign(graph.inputs().size(), 0);
  outputs_.resize(graph.outputs().size());
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) output_of_.emplace(graph.outputs()[i], i);
}

void IncrementalSession::read_beside_others() {
  beside_others_ = true;
  whole_.read_beside_others();
  for (auto& [changes, part] : parts_) {
    if (part.session != nullptr) part.session->read_beside_others();
  }
}

void IncrementalSession::set(std::uint32_t input, const core::Array& array) {
  whole_.session().bind(input, array);  // checks type and shape, and brings it to the device
  given_[input] = whole_.session().input(input);
  changed_[input] = true;
}

void IncrementalSession::note_changes() {
  const core::Graph& graph = executable_->graph();
  changes_ = changed_;
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    if (graph.inputs()[i].generator) changes_[i] = graph.draws() != 0;
    else if (states_[i] != nullptr) changes_[i] = changes_[i] || states_[i]->revision() != revisions_[i];
  }
}

void IncrementalSession::run() {
  note_changes();
  if (!std::exchange(up_to_date_, false)) {
    parts_.clear();
    kept_.clear();
    run_whole();
  } else {
    run_part(part_for(changes_));
  }
  up_to_date_ = true;
}

void IncrementalSession::run_timed(std::span<double> milliseconds) {
  up_to_date_ = false;
  whole_.session().time_steps(milliseconds);
  try {
    run();
  } catch (...) {
    whole_.session().time_steps({});
    throw;
  }
  whole_.session().time_steps({});
}

void IncrementalSession::run_whole() {
  Session& session = whole_.session();
  for (std::size_t i = 0; i < outputs_.size(); ++i) session.give_output(i, std::move(outputs_[i]));
  whole_.run();
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i] = session.take_output(i);
  note_states(written_);
  last_run_steps_ = executable_->steps().size();
}

// Marks written states as changed; others count as changed once their revision moves.
void IncrementalSession::note_states(const std::vector<bool>& written) {
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    changed_[i] = written[i];
    if (states_[i] != nullptr) revisions_[i] = states_[i]->revision();
  }
}

// The changes of the smallest part that covers these; all changes, where none does.
IncrementalSession::Changes IncrementalSession::smallest_cover(const Changes& changed) const {
  Changes key(changed.size(), true);
  auto fewest = std::count(key.begin(), key.end(), true);
  for (const auto& [other, part] : parts_) {
    bool covers = true;
    for (std::size_t i = 0; i < changed.size(); ++i) covers = covers && (other[i] || !changed[i]);
    const auto size = std::count(other.begin(), other.end(), true);
    if (!covers || size >= fewest) continue;
    fewest = size;
    key = other;
  }
  return key;
}

IncrementalSession::Part& IncrementalSession::part_for(const Changes& changed) {
  auto found = parts_.find(changed);
  if (found != parts_.end() && found->second.kept_values == kept_.size()) return found->second;
  // No more parts are made than so many: then the smallest that covers the changes does, too.
  const Changes key = found != parts_.end() || parts_.size() < part_limit ? changed : smallest_cover(changed);
  found = parts_.find(key);
  if (found == parts_.end() || found->second.kept_values != kept_.size()) {
    // Made for the first time, or before other values were kept, which it may have to bring up to date as well.
    found = parts_.insert_or_assign(key, make_part(key)).first;
  }
  return found->second;
}

IncrementalSession::Part IncrementalSession::make_part(const Changes& changed) {
  const core::Graph& graph = executable_->graph();
  const std::vector<bool> reached = optimiser::reached_by(graph, changed);
  optimiser::PartialRequest request;
  Part part;
  part.written.assign(changed.size(), false);
  for (std::uint32_t i = 0; i < graph.outputs().size(); ++i) {
    if (reached[graph.outputs()[i]]) request.outputs.push_back(i);
  }
  for (std::uint32_t i = 0; i < graph.updates().size(); ++i) {
    const core::GraphUpdate& update = graph.updates()[i];
    if (!reached[update.port] && !changed[update.input]) continue;
    request.updates.push_back(i);
    part.written[update.input] = true;
  }
  request.available.assign(graph.port_count(), false);
  for (const auto& [port, index] : output_of_) request.available[port] = !reached[port];
  for (const auto& [port, array] : kept_) {
    if (reached[port]) request.kept.push_back(port);
    else request.available[port] = true;
  }
  request.draws = graph.draws();
  const std::vector<Port> missing = optimiser::crossing_values(graph, reached, request);
  part.whole = kept_.empty() && missing.empty() && request.outputs.size() == graph.outputs().size() &&
               request.updates.size() == graph.updates().size();
  if (part.whole) return part;
  if (!missing.empty()) fill(missing);
  for (const Port port : missing) request.available[port] = true;

  optimiser::PartialGraph partial = optimiser::partial_graph(graph, request);
  part.inputs = std::move(partial.inputs);
  part.given = std::move(partial.given);
  part.outputs = std::move(request.outputs);
  part.kept = std::move(request.kept);
  part.kept_values = kept_.size();
  if (!part.outputs.empty() || !part.kept.empty() || !request.updates.empty()) {
    part.session = session_for(std::move(partial.graph));
  }
  return part;
}

// Computes values that the changed inputs do not affect once, from the current contents.
void IncrementalSession::fill(const std::vector<Port>& missing) {
  const core::Graph& graph = executable_->graph();
  optimiser::PartialRequest request;
  request.kept = missing;
  request.available.assign(graph.port_count(), false);
  optimiser::PartialGraph partial = optimiser::partial_graph(graph, request);
  Part once;
  once.inputs = std::move(partial.inputs);
  once.kept = missing;
  for (const Port port : missing) kept_.emplace(port, core::Array());
  run_session(*session_for(std::move(partial.graph)), once);
}

std::unique_ptr<BoundSession> IncrementalSession::session_for(core::Graph graph) const {
  CompileOptions options = executable_->options();
  options.passes = as_recorded;  // the whole has been through them
  options.dump = nullptr;
  auto executable = std::make_shared<const Executable>(std::move(graph), executable_->device(), options);
  auto session = std::make_unique<BoundSession>(std::move(executable), whole_.session().arena());
  if (beside_others_) session->read_beside_others();
  return session;
}

const core::Array& IncrementalSession::kept(Port port) const {
  const auto found = kept_.find(port);
  return found != kept_.end() ? found->second : outputs_[output_of_.at(port)];
}

void IncrementalSession::run_session(BoundSession& bound, const Part& part) {
  Session& session = bound.session();
  std::uint32_t slot = 0;
  for (const std::uint32_t input : part.inputs) {
    const core::GraphInput& facts = executable_->graph().inputs()[input];
    if (!is_state(facts) && !facts.generator && given_[input]) session.bind(slot, given_[input]);
    ++slot;
  }
  for (const Port port : part.given) session.bind(slot++, kept(port));
  std::size_t place = 0;
  for (const std::uint32_t output : part.outputs) session.give_output(place++, std::move(outputs_[output]));
  for (const Port port : part.kept) session.give_output(place++, std::move(kept_[port]));
  bound.run();
  place = 0;
  for (const std::uint32_t output : part.outputs) outputs_[output] = session.take_output(place++);
  for (const Port port : part.kept) kept_[port] = session.take_output(place++);
  bound.release_inputs();
}

void IncrementalSession::run_part(Part& part) {
  if (part.whole) return run_whole();
  last_run_steps_ = 0;
  if (part.session) {
    run_session(*part.session, part);
    last_run_steps_ = part.session->session().executable().steps().size();
  }
  note_states(part.written);
}

std::size_t IncrementalSession::kept_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [port, array] : kept_) {
    if (array) bytes += static_cast<std::size_t>(array.view.count()) * size_of(array.dtype);
  }
  return bytes;
}

std::size_t IncrementalSession::unplanned_allocations() const {
  std::size_t count = whole().unplanned_allocations();
  for (const auto& [changed, part] : parts_) {
    if (part.session) count += part.session->session().unplanned_allocations();
  }
  return count;
}

}  // namespace tyto::run
