// Listing graphs, from the bytes that they are saved as: what can be listed is what can be saved.
#include "tyto/graph_listing.hpp"

#include "core/builder.hpp"
#include "engine/front/attribute_listing.hpp"
#include "engine/graph/graph_bytes.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

Tensor<Eager> eager(const core::Array& array) { return Tensor<Eager>(core::constant(core::Mode::eager, array)); }

}  // namespace

GraphListing list_graph(const Graph& graph) {
  const core::Graph flat = run::graph_from_bytes("graph", graph.to_bytes());
  GraphListing listing;
  for (core::Port port = 0; port < flat.port_count(); ++port) {
    ListedTensor tensor{flat.type(port).dtype, flat.type(port).shape};
    if (const core::Array* array = flat.constant(port)) tensor.value = eager(*array);
    listing.tensors.push_back(std::move(tensor));
  }
  for (const core::GraphInput& input : flat.inputs()) {
    ListedTensor& tensor = listing.tensors[input.port];
    tensor.name = input.name;
    if (input.state == nullptr || input.state->kind() == core::State::Kind::placeholder) {
      listing.inputs.push_back(input.port);
    } else {
      tensor.value = copy(Tensor<Eager>(input.state->current()));
    }
  }
  for (const core::GraphNode& node : flat.nodes()) {
    const core::OpDef& def = core::op_table()[static_cast<std::size_t>(node.op)];
    if (def.is(core::Traits::leaf) || def.name == "read") continue;
    ListedNode listed;
    listed.op = def.name;
    if (node.label) listed.label = *node.label;
    for (const core::Port port : flat.inputs_of(node)) listed.inputs.push_back(port);
    for (std::uint32_t i = 0; i < node.result_count; ++i) listed.results.push_back(node.first_result + i);
    std::visit(
        [&]<class A>(const A& given) {
          if constexpr (core::can_be_given<A>) {
            given.fields([&](const char* name, const auto& field) {
              listed.attributes.push_back({name, core::as_attribute(field)});
            });
          }
        },
        flat.attributes(node));
    listing.nodes.push_back(std::move(listed));
  }
  listing.outputs.assign(flat.outputs().begin(), flat.outputs().end());
  for (const core::GraphUpdate& update : flat.updates()) {
    listing.updates.push_back(flat.inputs()[update.input].name);
  }
  return listing;
}

}  // namespace TYTO_API
