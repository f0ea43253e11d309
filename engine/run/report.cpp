// Reports and pictures of executables.
#include "engine/run/report.hpp"

#include <sstream>

#include "engine/core/text.hpp"

namespace tyto::run {

GraphReport report_of(const Executable& executable, double milliseconds) {
  GraphReport report;
  report.nodes = executable.graph().nodes().size();
  report.steps = executable.steps().size();
  report.arena_bytes = executable.arena_bytes() + executable.host_bytes();
  for (const core::GraphInput& input : executable.graph().inputs()) {
    if (input.state == nullptr || input.state->kind() == core::State::Kind::placeholder || input.generator) continue;
    const core::TensorType& type = executable.graph().type(input.port);
    report.state_bytes += static_cast<std::size_t>(element_count(type.shape)) * size_of(type.dtype);
  }
  report.milliseconds = milliseconds;
  report.passes = executable.passes();
  report.fallbacks.assign(executable.fallbacks().begin(), executable.fallbacks().end());
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

}  // namespace

std::string dot_of(const Executable& executable) {
  const core::Graph& graph = executable.graph();
  std::vector<std::size_t> offset(graph.nodes().size(), SIZE_MAX);
  for (const ExecutableStep& step : executable.steps()) {
    for (std::uint32_t i = 0; i < step.output_count; ++i) {
      const Storage& storage = executable.storages()[executable.operands()[step.first_operand + step.input_count + i]];
      if (storage.source == Source::arena) offset[step.node] = storage.offset;
    }
  }
  std::ostringstream out;
  out << "digraph tyto {\n  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n";
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const core::GraphNode& node = graph.nodes()[i];
    const core::TensorType& type = graph.type(node.first_result);
    out << "  n" << i << " [label=\"" << core::definition(node.op).name << "\\n"
        << name_of(type.dtype) << to_string(type.shape);
    if (node.label) out << "\\n" << escaped(*node.label);
    out << "\"";
    if (offset[i] != SIZE_MAX) {
      // Neighbouring hues for neighbouring addresses say nothing; a multiplicative hash spreads them.
      const double hue = static_cast<double>((offset[i] / 64 * 2654435761u) % 360) / 360.0;
      out << ", fillcolor=\"" << hue << " 0.35 0.95\"";
    } else {
      out << ", fillcolor=white";
    }
    out << "];\n";
    for (const core::Port input : graph.inputs_of(node)) out << "  n" << graph.producer(input) << " -> n" << i << ";\n";
  }
  out << "}\n";
  return out.str();
}

}  // namespace tyto::run
