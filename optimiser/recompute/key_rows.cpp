// SPDX-License-Identifier: MIT
// A body takes its key just before its rows, so that it stays as it is when the key becomes the first of them.
#include "optimiser/recompute/key_rows.hpp"

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "core/graph/op_ids.hpp"

namespace tyto::recompute {

namespace {

using core::Graph;
using core::GraphBuilder;
using core::GraphNode;
using core::IterationAttributes;
using core::OpId;
using core::Port;
using core::TensorType;

bool takes_key_rows(const IterationAttributes& loop) {
  return loop.keyed && loop.trips > 0 && !loop.counted && !loop.tested && loop.rows + loop.stacked > 0;
}

class KeyRows {
 public:
  explicit KeyRows(const Graph& graph) : graph_(graph), places_(graph.port_count(), core::no_port) {}

  Graph run() {
    for (const core::GraphInput& input : graph_.inputs()) {
      places_[input.port] = builder_.add_input(graph_.type(input.port), input);
    }
    for (const GraphNode& node : graph_.nodes()) {
      if (node.result_count == 0 || places_[node.first_result] == core::no_port) copy(node);
    }
    for (const Port output : graph_.outputs()) builder_.add_output(places_[output]);
    for (const core::GraphUpdate& update : graph_.updates()) builder_.add_update(update.input, places_[update.port]);
    builder_.set_draws(graph_.draws());
    return builder_.finish();
  }

 private:
  void copy(const GraphNode& node) {
    std::vector<Port> inputs;
    std::vector<TensorType> types;
    for (const Port input : graph_.inputs_of(node)) inputs.push_back(places_[input]);
    for (std::uint32_t r = 0; r < node.result_count; ++r) types.push_back(graph_.type(node.first_result + r));
    std::shared_ptr<const core::Attributes> attributes = node.attributes;
    if (attributes && !core::regions_of(*attributes).empty()) {
      core::Attributes changed = *attributes;
      if (auto* branch = std::get_if<core::BranchAttributes>(&changed)) {
        for (core::Region& arm : branch->arms) arm = core::Region(with_key_rows(arm.graph()));
      }
      if (auto* loop = std::get_if<IterationAttributes>(&changed)) {
        loop->body = core::Region(with_key_rows(loop->body.graph()));
        if (takes_key_rows(*loop)) {
          const Port key = inputs.front();
          inputs.erase(inputs.begin());
          inputs.insert(inputs.begin() + loop->carries, stack_of_keys(key, *loop));
          loop->keyed = false;
          loop->draw = 0;
          ++loop->rows;
        }
      }
      attributes = std::make_shared<const core::Attributes>(std::move(changed));
    }
    const Port first = builder_.add(node.op, attributes, inputs, types, node.label);
    for (std::uint32_t r = 0; r < node.result_count; ++r) places_[node.first_result + r] = first + r;
  }

  Port stack_of_keys(Port key, const IterationAttributes& loop) {
    const auto [known, is_new] = stacks_.try_emplace({key, loop.draw, loop.trips}, core::no_port);
    if (!is_new) return known->second;
    GraphBuilder body;
    body.add_output(body.add_input({DType::i64, {2}, false}, core::GraphInput()));
    IterationAttributes keys;
    keys.body = core::Region(body.finish());
    keys.stacked = 1;
    keys.trips = loop.trips;
    keys.keyed = true;
    keys.draw = loop.draw;
    const Port operands[] = {key};
    known->second = builder_.add(OpId::loop, std::make_shared<const core::Attributes>(std::move(keys)), operands);
    return known->second;
  }

  const Graph& graph_;
  GraphBuilder builder_;
  std::vector<Port> places_;
  std::map<std::tuple<Port, std::int64_t, std::int64_t>, Port> stacks_;
};

}  // namespace

Graph with_key_rows(const Graph& graph) { return KeyRows(graph).run(); }

}  // namespace tyto::recompute
