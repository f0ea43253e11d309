// SPDX-License-Identifier: MIT
// Writes the data of the page as one JSON object into its source.
#include "engine/show/page.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/show/report.hpp"
#include "engine/show/state_names.hpp"
#include "optimiser/memory/problem.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::run {

namespace {

using Json = nlohmann::ordered_json;

std::string type_text(const core::Graph& graph, const core::GraphNode& node) {
  const core::TensorType& type = graph.type(node.first_result);
  return core::text(type.dtype, type.shape);
}

/// The address in the arena that a node's first result gets; absent for what lies elsewhere.
std::unordered_map<std::uint32_t, std::size_t> slots_of(const Executable& executable) {
  std::unordered_map<std::uint32_t, std::size_t> slots;
  for (const ExecutableStep& step : executable.steps()) {
    if (step.output_count == 0) continue;
    const Storage& storage = executable.storages()[executable.operands()[step.first_operand + step.input_count]];
    if (storage.kind == StorageKind::arena) slots[step.node] = storage.offset;
  }
  return slots;
}

Json nodes_of(const core::Graph& graph, const StateNames& states,
              const std::unordered_map<std::uint32_t, std::size_t>& slots) {
  const InputNames names = names_of_inputs(graph, states);
  Json nodes = Json::array();
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const core::GraphNode& node = graph.nodes()[i];
    Json row{{"op", core::definition(node.op).name}, {"type", type_text(graph, node)}};
    std::size_t bytes = 0;
    for (std::uint32_t r = 0; r < node.result_count; ++r) bytes += optimiser::bytes_of(graph, node.first_result + r);
    row["bytes"] = bytes;
    if (const std::string members = core::members_of(graph, node); !members.empty()) row["members"] = members;
    Json inputs = Json::array();
    for (const core::Port port : graph.inputs_of(node)) inputs.push_back(graph.producer(port));
    row["inputs"] = std::move(inputs);
    if (node.label) row["label"] = *node.label;
    if (node.attributes) {
      row["attributes"] = core::to_string(*node.attributes);
      Json regions = Json::array();
      for (const core::Region& region : core::regions_of(*node.attributes)) {
        regions.push_back(core::to_text(region.graph()));
      }
      if (!regions.empty()) row["regions"] = std::move(regions);
    }
    if (const auto name = names.find(node.first_result); name != names.end()) row["name"] = name->second;
    if (const auto slot = slots.find(i); slot != slots.end()) row["slot"] = slot->second;
    nodes.push_back(std::move(row));
  }
  return nodes;
}

Json blocks_of(const Executable& executable) {
  const std::span<const std::int64_t> instants = executable.instants();
  const auto step_at = [&](std::int64_t instant) {
    return std::ranges::upper_bound(instants, instant) - instants.begin() - 1;
  };
  Json blocks = Json::array();
  for (std::size_t i = 0; i < executable.blocks().size(); ++i) {
    const Block& block = executable.blocks()[i];
    memory::for_each_span(block, [&](std::int64_t lower, std::int64_t upper) {
      blocks.push_back({{"label", executable.block_labels()[i]},
                        {"lower", lower},
                        {"upper", upper},
                        {"first", step_at(lower)},
                        {"past", step_at(upper - 1) + 1},
                        {"size", block.size},
                        {"offset", executable.plan().offsets[i]}});
    });
  }
  return blocks;
}

// Most bytes of blocks that live at once in each step.
std::vector<std::int64_t> live_bytes(const Executable& executable) {
  const std::span<const std::int64_t> instants = executable.instants();
  const std::int64_t end = executable.duration();
  std::vector<std::int64_t> live(static_cast<std::size_t>(end) + 1, 0);
  for (const Block& block : executable.blocks()) {
    memory::for_each_span(block, [&](std::int64_t lower, std::int64_t upper) {
      live[static_cast<std::size_t>(std::min(lower, end))] += block.size;
      live[static_cast<std::size_t>(std::min(upper, end))] -= block.size;
    });
  }
  for (std::size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
  std::vector<std::int64_t> most;
  for (std::size_t i = 0; i < executable.steps().size(); ++i) {
    most.push_back(*std::max_element(live.begin() + instants[i], live.begin() + instants[i + 1]));
  }
  return most;
}

/// The tensors of a collective call, by parts where it is a bucket: for a gradient the parameter, found by layer and
/// shape.
std::string parts_of(const core::Graph& graph, core::Port whole, const StateNames& states) {
  const core::GraphNode* node = &graph.nodes()[graph.producer(whole)];
  std::string parts;
  if (node->op == core::OpId::concat) {
    for (const core::Port part : graph.inputs_of(*node))
      parts += (parts.empty() ? "" : ", ") + parts_of(graph, part, states);
    return parts;
  }
  while ((node->op == core::OpId::reshape || !node->label) && node->input_count != 0) {  // weighted by samples
    whole = graph.inputs_of(*node)[0];
    node = &graph.nodes()[graph.producer(whole)];
  }
  const std::string label = node->label ? *node->label : std::string();
  const std::string layer = label.substr(0, label.find("/gradient of ")) + '.';
  const auto fits = [&](const auto& each) {
    return each.first->kind() == core::State::Kind::variable && each.second.starts_with(layer) &&
           each.first->type() == graph.type(whole);
  };
  const bool is_one = std::ranges::count_if(states, fits) == 1;
  return is_one ? std::ranges::find_if(states, fits)->second : label;
}

Json steps_of(const Executable& executable, const StateNames& states) {
  const core::Graph& graph = executable.graph();
  const std::vector<std::int64_t> live = live_bytes(executable);
  Json steps = Json::array();
  for (std::size_t i = 0; i < executable.steps().size(); ++i) {
    const ExecutableStep& step = executable.steps()[i];
    const core::GraphNode& node = graph.nodes()[step.node];
    const std::string members = core::members_of(graph, node);
    const std::optional<std::size_t> exchanged = exchanged_bytes(executable, step);
    steps.push_back({{"name", core::text(step.name, members.empty() ? "" : " ", members)},
                     {"label", exchanged    ? parts_of(graph, graph.inputs_of(node)[0], states)
                               : node.label ? *node.label
                                            : std::string()},
                     {"exchanged", exchanged ? Json(*exchanged) : Json()},
                     {"type", type_text(graph, node)},
                     {"live", live[i]}});
  }
  return steps;
}

Json profile_rows(const GraphProfile& profile) {
  Json rows = Json::array();
  for (const StepProfile& step : profile.steps) {
    rows.push_back({{"milliseconds", step.milliseconds}, {"bytes", step.bytes}, {"operations", step.operations}});
  }
  return rows;
}

}  // namespace

std::string page_of(const core::Graph& recorded, const Executable& executable, const GraphProfile& profile) {
  const MemoryPlan& plan = executable.plan();
  const StateNames states = names_of_states(recorded);
  const Json data{{"summary",
                   {{"peak", plan.height},
                    {"bound", plan.bound},
                    {"naive", plan.naive},
                    {"strategy", plan.strategy},
                    {"states", input_bytes_of(executable).states}}},
                  {"recorded", nodes_of(recorded, states, {})},
                  {"optimised", nodes_of(executable.graph(), states, slots_of(executable))},
                  {"steps", steps_of(executable, states)},
                  {"blocks", blocks_of(executable)},
                  {"profile", profile_rows(profile)}};
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  // A label may hold "</script>" or "<!--", which mean something to the browser; JSON lets the sign be escaped.
  std::string safe;
  safe.reserve(text.size());
  for (const char letter : text) {
    if (letter == '<') safe += "\\u003c";
    else safe += letter;
  }
  std::string page = page_source;
  constexpr std::string_view place = ">DATA<";
  page.replace(page.find(place) + 1, place.size() - 2, safe);
  return page;
}

}  // namespace tyto::run
