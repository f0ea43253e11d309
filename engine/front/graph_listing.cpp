// SPDX-License-Identifier: MIT
// Listing graphs, from the bytes that they are saved as: what can be listed is what can be saved.
#include "tyto/graph_listing.hpp"

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "engine/front/attribute_listing.hpp"
#include "engine/graph/graph_bytes.hpp"
#include "engine/graph/state.hpp"
#include "engine/prepare/lowering.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

Tensor<Eager> eager(const core::Array& array) { return Tensor<Eager>(core::constant(core::Mode::eager, array)); }

using Knows = std::function<bool(const std::string& op)>;

bool is_left_out(const core::OpDef& def) { return def.is(core::Traits::leaf) || def.name == "read"; }

/// The graph with unknown operators lowered to known ones, as far as they are made of these.
core::Graph in_known_operators(core::Graph graph, const Knows& knows) {
  if (!knows) return graph;
  const auto is_known = [&](const core::OpDef& def) { return is_left_out(def) || knows(std::string(def.name)); };
  return run::lowered(std::move(graph), {[&](const core::OpDef& def, auto, auto) { return is_known(def); },
                                         [&](const core::Graph&, const core::GraphNode& node) {
                                           return is_known(core::definition(node.op));
                                         }});
}

GraphListing listing_of(const core::Graph& graph, const Knows& knows);

ListedNode listed(const core::Graph& graph, const core::GraphNode& node, const Knows& knows) {
  ListedNode listed;
  listed.op = core::definition(node.op).name;
  if (node.label) listed.label = *node.label;
  for (const core::Port port : graph.inputs_of(node)) listed.inputs.push_back(port);
  for (std::uint32_t i = 0; i < node.result_count; ++i) listed.results.push_back(node.first_result + i);
  const auto regions = core::regions_of(graph.attributes(node));
  std::visit(
      [&]<class A>(const A& given) {
        if constexpr (core::can_be_given<A> || core::holds_regions<A>) {
          given.fields([&](const char* name, const auto& field) {
            if constexpr (requires { core::as_attribute(field); }) {
              listed.attributes.push_back({name, core::as_attribute(field)});
            }
          });
        }
      },
      graph.attributes(node));
  for (const core::Region& region : regions) {
    listed.regions.push_back(listing_of(in_known_operators(core::Graph(region.graph()), knows), knows));
  }
  return listed;
}

/// Tensors and nodes; outputs and updates as a region has them.
GraphListing listing_of(const core::Graph& graph, const Knows& knows) {
  GraphListing listing;
  for (core::Port port = 0; port < graph.port_count(); ++port) {
    ListedTensor tensor{graph.type(port).dtype, graph.type(port).shape};
    const core::GraphNode& node = graph.nodes()[graph.producer(port)];
    if (node.op == core::OpId::constant) tensor.value = eager(run::constant_to_copy(graph.attributes(node)));
    listing.tensors.push_back(std::move(tensor));
  }
  for (const core::GraphInput& input : graph.inputs()) {
    ListedTensor& tensor = listing.tensors[input.port];
    tensor.name = input.name;
    if (input.state == nullptr || input.state->kind() == core::State::Kind::placeholder) {
      listing.inputs.push_back(input.port);
    } else {
      // The sequence of random numbers has no value of its own: each run goes on in it.
      const Value current = input.state->current();
      if (current) tensor.value = copy(Tensor<Eager>(current));
    }
  }
  for (const core::GraphNode& node : graph.nodes()) {
    if (!is_left_out(core::definition(node.op))) listing.nodes.push_back(listed(graph, node, knows));
  }
  for (const core::GraphUpdate& update : graph.updates()) listing.outputs.push_back(update.port);
  listing.outputs.insert(listing.outputs.end(), graph.outputs().begin(), graph.outputs().end());
  return listing;
}

}  // namespace

GraphListing list_graph(const Graph& graph, const std::function<bool(const std::string& op)>& knows) {
  const core::Graph flat = in_known_operators(run::graph_from_bytes("graph", graph.to_bytes()), knows);
  GraphListing listing = listing_of(flat, knows);
  listing.outputs.assign(flat.outputs().begin(), flat.outputs().end());
  for (const core::GraphUpdate& update : flat.updates()) {
    listing.updates.push_back(flat.inputs()[update.input].name);
  }
  return listing;
}

}  // namespace TYTO_API
