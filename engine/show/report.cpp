// SPDX-License-Identifier: MIT
// Writes reports and pictures of executables.
#include "engine/show/report.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <ranges>
#include <sstream>
#include <utility>

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/regions/run/region_moves.hpp"
#include "engine/run/packed_weights.hpp"
#include "engine/show/state_names.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::run {

namespace {

/// Generators' counters are no states of the user's.
std::vector<StateUpdate> updates_of(const Executable& executable) {
  const core::Graph& graph = executable.graph();
  std::vector<StateUpdate> updates;
  for (std::size_t i = 0; i < graph.updates().size(); ++i) {
    const core::GraphUpdate& update = graph.updates()[i];
    const core::GraphInput& state = graph.inputs()[update.input];
    if (state.generator) continue;
    const core::GraphNode& made = graph.nodes()[graph.producer(update.port)];
    const std::string rule = made.label ? *made.label : std::string(core::definition(made.op).name);
    updates.push_back({state.name, rule, executable.is_updated_in_place(i)});
  }
  return updates;
}

}  // namespace

InputBytes input_bytes_of(const Executable& executable) {
  std::vector<const core::State*> packed, plain_too;  // weights that are kept packed, and the state beside them
  for (const PackedInput& each : executable.packed_inputs()) {
    packed.push_back(executable.graph().inputs()[each.input].state.get());
    if (each.weights->keeps_plain()) plain_too.push_back(&each.weights->weights());
  }
  InputBytes bytes;
  for (std::uint32_t i = 0; i < executable.graph().inputs().size(); ++i) {
    const core::GraphInput& input = executable.graph().inputs()[i];
    const bool held = executable.needs(i) || std::ranges::count(plain_too, input.state.get()) != 0;
    if (!held || std::ranges::count(packed, input.state.get()) != 0) continue;
    const bool is_state =
        input.state != nullptr && input.state->kind() != core::State::Kind::placeholder && !input.generator;
    (is_state ? bytes.states : bytes.others) += optimiser::bytes_of(executable.graph(), input.port);
  }
  return bytes;
}

std::optional<std::size_t> exchanged_bytes(const Executable& executable, const ExecutableStep& step) {
  const core::Graph& graph = executable.graph();
  const core::GraphNode& node = graph.nodes()[step.node];
  if (step.copies || !core::has_effect(node)) return std::nullopt;
  return node.op == core::OpId::barrier ? 0 : optimiser::bytes_of(graph, graph.inputs_of(node)[0]);
}

GraphReport report_of(const Session& session, double milliseconds) {
  const Executable& executable = session.executable();
  GraphReport report;
  report.nodes = executable.graph().nodes().size();
  report.steps = executable.steps().size();
  for (const ParallelSection& section : executable.sections()) report.parallel_steps += section.end - section.first;
  report.arena_bytes = executable.arena_bytes() + executable.host_bytes();
  const InputBytes inputs = input_bytes_of(executable);
  report.state_bytes = inputs.states;
  report.input_bytes = inputs.others;
  for (const core::Port output : executable.graph().outputs()) {
    report.output_bytes += optimiser::bytes_of(executable.graph(), output);
  }
  std::vector<const core::Buffer*> seen;  // one buffer may hold several constants
  for (const core::Array& constant : executable.constants()) {
    if (std::find(seen.begin(), seen.end(), constant.buffer.get()) != seen.end()) continue;
    seen.push_back(constant.buffer.get());
    report.constant_bytes += constant.buffer->bytes();
  }
  report.kept_bytes = executable.packed_bytes();
  report.last_run_steps = report.steps;
  report.unplanned_allocations = session.unplanned_allocations();
  for (const auto& [name, count] : session.unplanned_by_node()) {
    report.unplanned_by_node.push_back(core::text(name, ": ", count));
  }
  report.milliseconds = milliseconds;
  report.passes = executable.passes();
  list_moves(
      executable, "", [](std::size_t, std::size_t) { return false; }, report.moved);
  report.fallbacks.assign(executable.fallbacks().begin(), executable.fallbacks().end());
  report.updates = updates_of(executable);
  report.collectives = executable.collectives().calls();
  for (const ExecutableStep& step : executable.steps()) {
    report.exchanged_bytes += exchanged_bytes(executable, step).value_or(0);
  }
  return report;
}

namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string label_of(const core::Graph& graph, const core::GraphNode& node, const InputNames& names) {
  const core::TensorType& type = graph.type(node.first_result);
  std::string label = core::text(core::definition(node.op).name, "\\n", name_of(type.dtype), to_string(type.shape));
  if (const auto name = names.find(node.first_result); name != names.end()) label += "\\n" + escaped(name->second);
  if (node.label) label += "\\n" + escaped(*node.label);
  if (node.op == core::OpId::fused) {
    const core::LoopProgram& program = std::get<core::LoopAttributes>(graph.attributes(node)).program;
    label += "\\n" + escaped(core::to_string(program));
  }
  return label;
}

// Each region of a node is a cluster named after the node, with those of its own nodes inside.
void write_regions(std::ostream& out, const core::Graph& graph, const core::GraphNode& node, const std::string& name) {
  if (!node.attributes) return;
  std::size_t number = 0;
  for (const core::Region& region : core::regions_of(graph.attributes(node))) {
    const std::string own = core::text(name, "_", number++);
    const core::Graph& inside = region.graph();
    out << "  subgraph cluster_" << own << " {\n  label=\"" << core::definition(node.op).name << ' ' << name << "\";\n";
    for (std::size_t i = 0; i < inside.nodes().size(); ++i) {
      const core::GraphNode& each = inside.nodes()[i];
      const std::string id = core::text(own, "_", i);
      out << "  " << id << " [label=\"" << label_of(inside, each, {}) << "\", fillcolor=white];\n";
      for (const core::Port input : inside.inputs_of(each)) {
        out << "  " << own << '_' << inside.producer(input) << " -> " << id << ";\n";
      }
      write_regions(out, inside, each, id);
    }
    out << "  }\n";
  }
}

}  // namespace

std::string memory_map_of(const Executable& executable) {
  return memory_map_svg(executable.blocks(), executable.plan());
}

std::string dot_of(const core::Graph& recorded, const Executable& executable) {
  const core::Graph& graph = executable.graph();
  const InputNames names = names_of_inputs(graph, names_of_states(recorded));
  std::vector<std::size_t> offset(graph.nodes().size(), SIZE_MAX);
  for (const ExecutableStep& step : executable.steps()) {
    for (std::uint32_t i = 0; i < step.output_count; ++i) {
      const Storage& storage = executable.storages()[executable.operands()[step.first_operand + step.input_count + i]];
      if (storage.kind == StorageKind::arena) offset[step.node] = storage.offset;
    }
  }
  std::ostringstream out;
  out << "digraph tyto {\n  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n";
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const core::GraphNode& node = graph.nodes()[i];
    out << "  n" << i << " [label=\"" << label_of(graph, node, names) << "\"";
    if (offset[i] != SIZE_MAX) {
      // Neighbouring hues for neighbouring addresses say nothing; a multiplicative hash spreads them.
      const double hue = static_cast<double>((offset[i] / 64 * 2654435761u) % 360) / 360.0;
      out << ", fillcolor=\"" << hue << " 0.35 0.95\"";
    } else {
      out << ", fillcolor=white";
    }
    out << "];\n";
    for (const core::Port input : graph.inputs_of(node)) out << "  n" << graph.producer(input) << " -> n" << i << ";\n";
    write_regions(out, graph, node, core::text("n", i));
  }
  out << "}\n";
  return out.str();
}

}  // namespace tyto::run

namespace tyto TYTO_API {

std::ostream& operator<<(std::ostream& out, const GraphReport& report) {
  const auto line = [&](const char* what, std::size_t bytes) {
    if (bytes != 0) out << "  " << what << ' ' << core::bytes_in_words(bytes) << '\n';
  };
  out << report.nodes << " nodes, " << report.steps << " steps";
  if (report.parallel_steps != 0) out << " (" << report.parallel_steps << " in branches that run at the same time)";
  out << ", prepared in " << report.milliseconds << " ms, " << core::bytes_in_words(report.total_bytes())
      << " in all\n";
  line("computed on the way", report.arena_bytes);
  line("states", report.state_bytes);
  line("constants", report.constant_bytes);
  line("inputs", report.input_bytes);
  line("outputs", report.output_bytes);
  line("kept between runs", report.kept_bytes);
  line("exchanged with other processes each run", report.exchanged_bytes);
  if (report.unplanned_allocations != 0) {
    out << "  " << report.unplanned_allocations << " unplanned allocations";
    for (const std::string& node : report.unplanned_by_node) out << "; " << node;
    out << '\n';
  }
  constexpr std::size_t most_copies = 8;  // a training step with recurrent layers has dozens; `moved` has them all
  for (const MovedBytes& moved : report.moved | std::views::take(most_copies)) {
    out << "  " << moved.region << " copies ";
    if (moved.per_iteration != 0) out << moved.per_iteration << " bytes an iteration";
    else out << moved.per_run << " bytes a run";
    out << " of " << moved.value << ": " << moved.why << '\n';
  }
  if (report.moved.size() > most_copies) {
    out << "  and " << report.moved.size() - most_copies << " more copies at the borders of loops and branches\n";
  }
  std::map<std::pair<std::string, bool>, std::size_t> updates;
  for (const StateUpdate& update : report.updates) ++updates[{update.rule, update.in_place}];
  for (const auto& [how, count] : updates) {
    out << "  " << count << (count == 1 ? " state updated by " : " states updated by ") << how.first
        << (how.second ? ", in place\n" : "\n");
  }
  for (const std::string& call : report.collectives) out << "  with other processes: " << call << '\n';
  for (const std::string& name : report.fallbacks) out << "  on the CPU instead of the device: " << name << '\n';
  return out;
}

}  // namespace TYTO_API
