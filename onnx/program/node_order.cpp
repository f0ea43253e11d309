// SPDX-License-Identifier: MIT
// Sorting nodes by a depth-first traversal against the edges, without recursion: near linear in what the nodes read.
#include "onnx/program/node_order.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "onnx/file/message.hpp"
#include "onnx/program/operator_call.hpp"

namespace tyto::onnx {

namespace {

using NameList = std::vector<std::string_view>;

void add_names_read(const NodeMessage& node, NameList& names);

// Adds the names that a graph inside of a node captures: those that it reads and does not define itself.
void add_names_captured(const GraphMessage& graph, NameList& names) {
  std::unordered_set<std::string_view> own;
  for (const TensorMessage& tensor : graph.initialisers) own.insert(tensor.name);
  for (const ValueMessage& input : graph.inputs) own.insert(input.name);
  NameList read;
  for (const NodeMessage& node : graph.nodes) {
    own.insert(node.outputs.begin(), node.outputs.end());
    add_names_read(node, read);
  }
  for (const ValueMessage& output : graph.outputs) read.push_back(output.name);
  for (const std::string_view name : read) {
    if (own.count(name) == 0) names.push_back(name);
  }
}

void add_names_read(const NodeMessage& node, NameList& names) {
  names.insert(names.end(), node.inputs.begin(), node.inputs.end());
  for (const AttributeMessage& attribute : node.attributes) {
    if (attribute.graph) add_names_captured(*attribute.graph, names);
  }
}

class Traversal {
 public:
  Traversal(const std::string& file, const std::vector<const NodeMessage*>& nodes)
      : file_(file), nodes_(nodes), state_(nodes.size(), State::unseen) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const std::string_view name : nodes[i]->outputs) {
        if (!name.empty()) made_by_.emplace(name, i);
      }
    }
  }

  std::vector<const NodeMessage*> order() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) add_with_all_before(i);
    return std::move(order_);
  }

 private:
  enum class State : std::uint8_t { unseen, open, done };
  struct Visit {
    std::size_t node;
    NameList reads;
    std::size_t next = 0;
  };

  void open(std::size_t node) {
    state_[node] = State::open;
    path_.push_back({node, {}});
    add_names_read(*nodes_[node], path_.back().reads);
  }

  void add_with_all_before(std::size_t node) {
    if (state_[node] != State::unseen) return;
    open(node);
    while (!path_.empty()) {
      Visit& visit = path_.back();
      if (visit.next == visit.reads.size()) {
        state_[visit.node] = State::done;
        order_.push_back(nodes_[visit.node]);
        path_.pop_back();
        continue;
      }
      const auto maker = made_by_.find(visit.reads[visit.next++]);
      if (maker == made_by_.end()) continue;
      if (state_[maker->second] == State::open) refuse_cycle(maker->second);
      if (state_[maker->second] == State::unseen) open(maker->second);
    }
  }

  [[noreturn]] void refuse_cycle(std::size_t node) const {
    constexpr std::ptrdiff_t most_named = 8;
    const auto begin = std::find_if(path_.begin(), path_.end(), [&](const Visit& visit) { return visit.node == node; });
    std::string names;
    for (auto visit = begin; visit != path_.end() && visit - begin < most_named; ++visit) {
      names += described(*nodes_[visit->node]) + ", which reads ";
    }
    if (path_.end() - begin > most_named) names += "..., which reads ";
    refuse(file_, "its nodes form a cycle, of which none can run first: ", names, described(*nodes_[node]));
  }

  const std::string& file_;
  const std::vector<const NodeMessage*>& nodes_;
  std::vector<State> state_;
  std::unordered_map<std::string_view, std::size_t> made_by_;
  std::vector<Visit> path_;
  std::vector<const NodeMessage*> order_;
};

}  // namespace

std::vector<const NodeMessage*> in_order(const std::string& file, const std::vector<const NodeMessage*>& nodes) {
  return Traversal(file, nodes).order();
}

}  // namespace tyto::onnx
