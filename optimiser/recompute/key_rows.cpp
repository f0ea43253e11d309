// SPDX-License-Identifier: MIT
// Inserts keys as the first row of a body: a body takes its key just before its rows, so that it stays as it is.
#include "optimiser/recompute/key_rows.hpp"

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "core/graph/graph_copy.hpp"
#include "core/graph/op_ids.hpp"

namespace tyto::recompute {

namespace {

using core::Graph;
using core::GraphBuilder;
using core::GraphNode;
using core::IterationAttributes;
using core::OpId;
using core::Port;

bool takes_key_rows(const IterationAttributes& loop) {
  return loop.keyed && loop.trips > 0 && !loop.counted && !loop.tested && loop.rows + loop.stacked > 0;
}

class KeyRows {
 public:
  explicit KeyRows(const Graph& graph) : graph_(graph), copy_(graph, builder_) {}

  Graph run() {
    copy_.add_inputs();
    for (const GraphNode& node : graph_.nodes()) {
      if (copy_.has(node)) continue;
      if (node.attributes && !core::regions_of(*node.attributes).empty()) add_with_regions(node);
      else copy_.add(node);
    }
    return copy_.finish();
  }

 private:
  void add_with_regions(const GraphNode& node) {
    std::vector<Port> inputs;
    for (const Port input : graph_.inputs_of(node)) inputs.push_back(copy_[input]);
    core::Attributes changed = *node.attributes;
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
    auto attributes = std::make_shared<const core::Attributes>(std::move(changed));
    copy_.place(node, copy_.add_on(inputs, node, std::move(attributes), node.label));
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
  core::GraphCopy copy_;
  std::map<std::tuple<Port, std::int64_t, std::int64_t>, Port> stacks_;
};

}  // namespace

Graph with_key_rows(const Graph& graph) { return KeyRows(graph).run(); }

}  // namespace tyto::recompute
