// SPDX-License-Identifier: MIT
// Runs programs in every way, each with the bits that it promises, and makes graphs of recorded programs.
#include "tests/fuzz/runs.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/graph/graph.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"

namespace tyto::fuzz {

namespace {

// The exactness that docs/optimiser.md promises for each pass; for others, up to rounding.
const std::map<std::string, Faith> promises{
    {"dead_code", Faith::bits},     {"cse", Faith::bits},          {"algebra", Faith::layout},
    {"fuse", Faith::bits},          {"reshapes", Faith::bits},     {"views", Faith::layout},
    {"constants", Faith::layout},   {"transposes", Faith::layout}, {"stability", Faith::stabler},
    {"reductions", Faith::stabler}, {"scaling", Faith::stabler},   {"fma", Faith::stabler},
};

void count_operators(const core::Graph& graph, std::vector<std::size_t>& times) {
  for (const core::GraphNode& node : graph.nodes()) {
    ++times[static_cast<std::size_t>(node.op)];
    for (const core::Region& region : core::regions_of(graph.attributes(node))) count_operators(region.graph(), times);
  }
}

}  // namespace

std::vector<Way> ways_of(const Trial& trial, std::size_t runs) {
  std::vector<Way> list{
      {"no passes", {.check_plan = true, .passes = "none"}, Faith::all, runs},
      {"no passes, poisoned",
       {.memory_strategy = "bump", .check_plan = true, .poison = true, .passes = "none"},
       Faith::plan,
       3},
      {"all passes", {.check_plan = true, .passes = "all"}, Faith::stabler, runs},
      {"honest passes", {.check_plan = true, .passes = "all,-stability,-reductions,-scaling,-fma"}, Faith::rounding, 3},
      {"all passes, poisoned", {.check_plan = true, .poison = true, .passes = "all"}, Faith::stabler, 3},
      {"fast mathematics", {.check_plan = true, .passes = "all,+fast_math"}, Faith::stabler, 1},
  };
  for (const PassDescription& pass : graph_passes()) {
    if (pass.name == "fast_math") continue;
    const auto promise = promises.find(pass.name);
    list.push_back({"pass " + pass.name,
                    {.check_plan = true, .passes = pass.name},
                    promise == promises.end() ? Faith::rounding : promise->second,
                    2});
  }
  for (const MemoryStrategy& strategy : memory_strategies()) {
    // The solver takes its time; now and then is often enough.
    if (!strategy.available || (strategy.name == "mip" && trial.seed % 40 != 0)) continue;
    list.push_back({"plan by " + std::string(strategy.name),
                    {.memory_strategy = std::string(strategy.name), .check_plan = true, .passes = "none"},
                    Faith::plan,
                    1});
  }
  if (trial.regions) {
    // What plans are held against, the two that differ most, and three of all, so that neighbouring seeds go through
    // all.
    std::vector<Way> few{list[0], list[1], list[4]};
    for (std::size_t i = 0; i < 3; ++i) few.push_back(list[(trial.seed * 3 + i) % list.size()]);
    return few;
  }
  return list;
}

void change(std::vector<Data>& inputs, const Material& material, std::size_t run) {
  if (run == 0) return;
  for (const Material::Change& c : material.changes[run - 1]) inputs[c.input] = c.value;
}

Recorded::Recorded(const Trial& trial, const Material& material) : trial_(trial), material_(material) {
  for (std::size_t i = 0; i < material.inputs.size(); ++i) {
    const Data& data = material.inputs[i];
    inputs_.push_back(Tensor<Lazy>::placeholder(data.shape, data.dtype, core::text("input ", i)));
  }
  states_ = states_of<Lazy>(material);
  program_ = program_of<Lazy>(trial, inputs_, states_);
  for (std::size_t i = 0; i < states_.size(); ++i) updates_.push_back({states_[i], program_.updates[i]});
}

History Recorded::run(const Way& way, TrialCount& count) const {
  seed(trial_.seed);
  const Recorded* const alone = this;
  return run_together({&alone, 1}, way, count).front();
}

std::vector<History> Recorded::run_together(std::span<const Recorded* const> list, const Way& way, TrialCount& count) {
  std::vector<Tensor<Lazy>> inputs, outputs;
  std::vector<Update> updates;
  for (const Recorded* each : list) {
    inputs.insert(inputs.end(), each->inputs_.begin(), each->inputs_.end());
    outputs.insert(outputs.end(), each->program_.outputs.begin(), each->program_.outputs.end());
    updates.insert(updates.end(), each->updates_.begin(), each->updates_.end());
  }
  Graph graph{{.inputs = inputs, .outputs = outputs, .updates = updates}, way.options};
  for (const Recorded* each : list) {
    for (std::size_t i = 0; i < each->inputs_.size(); ++i) {
      graph.set(each->inputs_[i], each->material_.inputs[i].template tensor<Lazy>());
    }
  }
  std::vector<History> histories(list.size());
  for (std::size_t run = 0; run < way.runs; ++run) {
    for (const Recorded* each : list) {
      if (run == 0) break;
      for (const Material::Change& c : each->material_.changes[run - 1]) {
        graph.set(each->inputs_[c.input], c.value.tensor<Lazy>());
      }
    }
    graph.run();
    std::size_t next = 0;
    for (std::size_t k = 0; k < list.size(); ++k) {
      Snapshot now;
      for (std::size_t i = 0; i < list[k]->program_.outputs.size(); ++i) {
        now.outputs.push_back(Data::of(graph.output(next++)));
      }
      for (const Tensor<Lazy>& state : list[k]->states_) now.states.push_back(Data::of(state));
      histories[k].push_back(std::move(now));
    }
  }
  count.runs += way.runs * list.size();
  const GraphReport report = graph.report();
  for (const PassSummary& pass : report.passes.passes) {
    for (const RuleCount& rule : pass.rules) count.rules[rule.rule] += rule.count;
  }
  for (const std::string& fallback : report.fallbacks) ++count.fallbacks[fallback];
  return histories;
}

std::optional<History> Recorded::saved(std::size_t runs) const {
  std::vector<std::byte> bytes;
  try {
    bytes = Graph{{.inputs = inputs_, .outputs = program_.outputs, .updates = updates_}}.to_bytes();
  } catch (const GraphError&) {
    return std::nullopt;
  }
  Graph graph = Graph::from_bytes(bytes, "saved", {.check_plan = true, .passes = "none"});
  seed(trial_.seed);
  std::vector<Data> inputs = material_.inputs;
  History history;
  for (std::size_t run = 0; run < runs; ++run) {
    change(inputs, material_, run);
    const std::vector<Tensor<Lazy>> places = graph.inputs();
    for (std::size_t i = 0; i < places.size(); ++i) graph.set(places[i], inputs[i].tensor<Lazy>());
    graph.run();
    Snapshot now;
    for (std::size_t i = 0; i < graph.output_count(); ++i) now.outputs.push_back(Data::of(graph.output(i)));
    history.push_back(std::move(now));
  }
  return history;
}

std::vector<std::size_t> operators_of(const Program<Lazy>& program) {
  std::vector<std::size_t> times(core::op_count);
  std::vector<core::Node*> stack;
  for (const Tensor<Lazy>& x : program.outputs) stack.push_back(x.value().node());
  for (const Tensor<Lazy>& x : program.updates) stack.push_back(x.value().node());
  std::unordered_set<core::Node*> seen;
  while (!stack.empty()) {
    core::Node* node = stack.back();
    stack.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    ++times[static_cast<std::size_t>(node->op())];
    for (const core::Region& region : core::regions_of(node->attributes())) count_operators(region.graph(), times);
    for (const Value& input : node->inputs()) stack.push_back(input.node());
  }
  return times;
}

}  // namespace tyto::fuzz
