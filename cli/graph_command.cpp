// SPDX-License-Identifier: MIT
// tyto graph: prints nodes, plan or figures of a saved graph, or draws it.
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include <tyto/io.hpp>

#include "cli/commands.hpp"
#include "cli/suggestion.hpp"

namespace tyto::cli {
namespace {

constexpr OptionRow graph_options[] = {
    {"--text", "", "print one line a node"},
    {"--dot", "", "print the graph in Graphviz' language, coloured by memory"},
    {"--html", "", "print a page for a browser: graph, schedule, memory"},
    {"--plan", "", "print the memory plan"},
    {"--stats", "", "print figures: nodes, steps, bytes, how often each operator stands (the default)"},
    {"--strategy", "NAME", "plan memory by this strategy (best)"},
};

// The operator is the first word behind the equals sign of a node's line.
std::map<std::string, std::size_t> operator_counts(const std::string& text) {
  std::map<std::string, std::size_t> counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(" = ");
    if (line.empty() || line[0] != '%' || equals == std::string::npos) continue;
    const std::size_t begin = equals + 3;
    ++counts[line.substr(begin, line.find(' ', begin) - begin)];
  }
  return counts;
}

void print_stats(Graph& graph) {
  const GraphReport report = graph.report();
  std::cout << "inputs     " << graph.inputs().size() << "\n"
            << "outputs    " << graph.output_count() << "\n"
            << "variables  " << graph.variables().size() << "\n"
            << "nodes      " << report.nodes << "\n"
            << "steps      " << report.steps << "\n"
            << "arena      " << report.arena_bytes << " bytes\n"
            << "states     " << report.state_bytes << " bytes\n";
  for (const auto& [name, count] : operator_counts(graph.text())) std::cout << "  " << count << "  " << name << "\n";
}

int run_graph(const Arguments& arguments) {
  const std::string& path = arguments.only_operand("graph takes one file");
  require_file(path);
  Graph graph = load_graph(path, {.memory_strategy = arguments.text("--strategy").value_or("best")});
  const bool any =
      arguments.has("--text") || arguments.has("--dot") || arguments.has("--html") || arguments.has("--plan");
  if (arguments.has("--text")) std::cout << graph.text();
  if (arguments.has("--dot")) std::cout << graph.dot();
  if (arguments.has("--html")) std::cout << graph.html();
  if (arguments.has("--plan")) std::cout << graph.plan();
  if (!any || arguments.has("--stats")) print_stats(graph);
  return done;
}

}  // namespace

const Command graph_command{"graph", "FILE", "shows a graph saved by save_graph: nodes, picture, memory plan",
                            graph_options, run_graph};

}  // namespace tyto::cli
