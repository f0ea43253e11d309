// SPDX-License-Identifier: MIT
// Runs the passes with their switches and on regions, and computes constants for them.
#include "engine/prepare/graph_passes.hpp"

#include <algorithm>
#include <cstdint>

#include "core/graph/op_ids.hpp"
#include "core/system/environment.hpp"
#include "engine/prepare/device_support.hpp"
#include "engine/prepare/lowering.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/number_check.hpp"
#include "engine/run/session.hpp"
#include "engine/run/shared_arrays.hpp"
#include "optimiser/passes/hoisting.hpp"
#include "optimiser/passes/optimise.hpp"
#include "optimiser/storage/storages.hpp"
#include "tyto/device.hpp"

namespace tyto::run {

namespace {

/// Operands of folded constants are freed afterwards, but their sizes do not suit later allocations.
struct LeftOvers {
  LeftOvers() = default;
  LeftOvers(const LeftOvers&) = delete;
  LeftOvers& operator=(const LeftOvers&) = delete;
  ~LeftOvers() {
    if (there) trim_memory();
  }

  bool there = false;
};

// On the host, whatever the device: rules look at numbers, and constants are transferred once.
std::vector<core::Array> evaluate_constants(core::Graph graph, LeftOvers& left_overs) {
  constexpr std::size_t large = std::size_t{1} << 20;
  std::size_t bytes = 0;
  for (const core::Port output : graph.outputs()) bytes += optimiser::bytes_of(graph, output);
  if (bytes >= large) trim_memory();
  left_overs.there = left_overs.there || bytes >= large;
  CompileOptions plain;
  plain.passes = as_recorded;
  plain.memory_strategy = "greedy_by_size";
  Session session(std::make_shared<const Executable>(std::move(graph), cpu_device(), plain));
  session.run();
  std::vector<core::Array> results;
  const std::size_t count = session.executable().graph().outputs().size();
  for (std::size_t i = 0; i < count; ++i) results.push_back(session.take_output(i));
  return results;
}

core::Graph optimised_from(core::Graph graph, core::Device& device, const CompileOptions& options, PassReport& report,
                           std::size_t first_capture);

core::Region optimised_region(const core::Region& region, core::Device& device, CompileOptions options,
                              std::size_t first_capture = SIZE_MAX) {
  options.dump = nullptr;
  PassReport unused;
  return core::Region(optimised_from(core::Graph(region.graph()), device, options, unused, first_capture));
}

/// The graph with the regions of its nodes optimised, for the device where that runs all of them.
core::Graph with_optimised_regions(core::Graph graph, core::Device& device, const CompileOptions& options) {
  std::vector<core::Device*> homes;
  for (const core::GraphNode& node : graph.nodes()) {
    homes.push_back(runs_on(device, graph, node) ? &device : &cpu_device());
  }
  core::GraphData data = std::move(graph).take();
  for (std::size_t i = 0; i < data.nodes.size(); ++i) {
    core::GraphNode& node = data.nodes[i];
    core::Device& home = *homes[i];
    if (!node.attributes || core::regions_of(*node.attributes).empty()) continue;
    core::Attributes attributes = *node.attributes;
    if (auto* branch = std::get_if<core::BranchAttributes>(&attributes)) {
      for (core::Region& arm : branch->arms) arm = optimised_region(arm, home, options);
    }
    if (auto* loop = std::get_if<core::IterationAttributes>(&attributes)) {
      const std::int64_t own = loop->carries + loop->numbered + loop->keyed + loop->rows;
      // Graphs for another device do not pack weights that the CPU would have to pack for it.
      const std::size_t first_capture = &home == &device ? static_cast<std::size_t>(own) : SIZE_MAX;
      loop->body = optimised_region(loop->body, home, options, first_capture);
    }
    node.attributes = std::make_shared<const core::Attributes>(std::move(attributes));
  }
  return core::Graph(std::move(data));
}

/// Whether some operator is still to be lowered: regions are lowered after the graph that holds them, and passes may
/// have moved an operator from a region into that graph.
bool lowers(const core::Graph& graph, core::Device& device) {
  return std::ranges::any_of(graph.nodes(), [&](const core::GraphNode& node) {
    if (core::definition(node.op).lower == nullptr || runs_on(device, graph, node)) return false;
    std::vector<core::TensorType> inputs, results;
    for (const core::Port input : graph.inputs_of(node)) inputs.push_back(graph.type(input));
    for (std::uint32_t i = 0; i < node.result_count; ++i) results.push_back(graph.type(node.first_result + i));
    return lowering_for(device, node.op, graph.attributes(node), inputs, results).has_value();
  });
}

bool is_packing(const core::Graph&, const core::GraphNode& node) { return node.op == core::OpId::pack_weights; }

bool has_regions(const core::Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const core::GraphNode& node) {
    return node.attributes && !core::regions_of(*node.attributes).empty();
  });
}

core::Graph optimised_from(core::Graph graph, core::Device& device, const CompileOptions& options, PassReport& report,
                           std::size_t first_capture) {
  graph = lowered(std::move(graph), device);
  report.nodes_before = report.nodes_after = graph.nodes().size();
  if (options.passes == as_recorded) return graph;
  optimiser::PassOptions passes;
  passes.passes.push_back(options.passes);
  // One step for each operator, so that the one that makes a NaN has its name.
  if (number_check_of(options).nan) passes.passes.emplace_back("-epilogues,-packing,-fuse");
  if (const auto chosen = core::environment("TYTO_PASSES")) passes.passes.emplace_back(*chosen);
  LeftOvers left_overs;
  passes.evaluate = [&](core::Graph part) {
    std::vector<core::Array> made = evaluate_constants(std::move(part), left_overs);
    // Only on the CPU: OpenCL shares only writable host buffers with its device, and a shared array is read-only.
    if (&device == &cpu_device()) std::ranges::transform(made, made.begin(), shared_array);
    return made;
  };
  passes.supports = [&device](core::OpId op, std::span<const DType> inputs, std::span<const DType> outputs) {
    return device.supports(op, inputs, outputs);
  };
  passes.packed_bytes = [&device](core::OpId op, const core::ProductAttributes& product, DType dtype) {
    return device.packed_bytes(op, product, dtype);
  };
  passes.first_capture = first_capture;
  if (options.dump != nullptr) {
    passes.dump = [&options](std::string_view pass, const std::string& text) {
      *options.dump << (pass == "before" ? "" : "after ") << pass << ":\n" << text << "\n";
    };
  }
  graph = optimiser::optimise(std::move(graph), passes, &report);
  if (lowers(graph, device)) graph = optimiser::optimise(lowered(std::move(graph), device), passes);
  if (!has_regions(graph)) return graph;
  // Bodies pack what they capture when nothing else is to be done with their products. Before the loop the packed
  // weights of constants fold, and equal ones are one.
  optimiser::GraphEditor editor(with_optimised_regions(std::move(graph), device, options));
  const bool packed = optimiser::hoist(editor, is_packing) != 0;
  graph = editor.finish();
  return packed ? optimiser::optimise(std::move(graph), passes) : std::move(graph);
}

}  // namespace

core::Graph optimised(core::Graph graph, core::Device& device, const CompileOptions& options, PassReport& report) {
  return optimised_from(std::move(graph), device, options, report, SIZE_MAX);
}

}  // namespace tyto::run
