// SPDX-License-Identifier: MIT
// Constants: parts of a graph that depend on nothing given at run time are computed once.
#include <algorithm>
#include <span>

#include "core/graph/held_constant.hpp"
#include "core/graph/op_ids.hpp"
#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

namespace {

using Index = GraphEditor::Index;

// On the way to a small constant, tensors of this many times the limit may be computed.
constexpr std::size_t intermediate_factor = 64;
// Constants of so many bytes are computed together.
constexpr std::size_t part_bytes = std::size_t{2} << 20;

// Random numbers are drawn when the graph runs. A loop may run for long, or for ever in an arm that is never chosen.
bool may_fold(const GraphNode& node) {
  return depends_on_operands_only(node) && node.op != OpId::state && node.op != OpId::loop && node.op != OpId::branch &&
         !core::definition(node.op).is(Traits::random);
}

class ConstantFolder {
 public:
  explicit ConstantFolder(PassContext& context) : context_(context), editor_(context.editor) {}

  void run() {
    find_known();
    collect();
    if (!wanted_.empty()) fold();
  }

 private:
  std::size_t bytes_of(Port port) const {
    return static_cast<std::size_t>(element_count(editor_.shape(port))) * size_of(editor_.dtype(port));
  }

  // Contents of states are packed when runs read them, once for all graphs, and then released.
  bool is_packed_by_holder(Index index) {
    if (editor_.node(index).op != OpId::pack_weights) return false;
    Port port = editor_.input(index, 0);
    for (index = editor_.producer(port); editor_.node(index).input_count != 0; index = editor_.producer(port)) {
      const Port shown = editor_.input(index, 0);
      if (!core::rearranges(editor_.node(index).op, editor_.shape(shown), editor_.shape(port))) return false;
      port = shown;
    }
    return editor_.node(index).op == OpId::constant && core::holder_of(editor_.attributes(index)) != nullptr;
  }

  // known_[n]: bytes of the largest constant that node n is computed from, plus one; 0 when it is not known.
  void find_known() {
    known_.assign(editor_.index_limit(), 0);
    for (const Index index : editor_.order()) {
      const GraphNode& node = editor_.node(index);
      if (!may_fold(node) || is_packed_by_holder(index)) continue;
      std::size_t from = 1;
      bool known = true;
      if (node.op == OpId::constant) {
        from += bytes_of(node.first_result);
      } else {
        for (const Port input : editor_.inputs(index)) {
          const std::size_t source = known_[editor_.producer(input)];
          known = known && source != 0;
          from = std::max(from, source);
        }
        for (std::uint32_t i = 0; known && i < node.result_count; ++i) {
          known = bytes_of(node.first_result + i) <= context_.options.fold_limit * intermediate_factor;
        }
      }
      if (known) known_[index] = from;
    }
  }

  // Known values that other nodes, outputs and updates read. Views cost nothing at run time, so their operands are
  // folded instead of them.
  void collect() {
    for (const Index index : editor_.order()) {
      if (known_[index] != 0) continue;
      for (const Port input : editor_.inputs(index)) want(input);
    }
    for (const Port output : editor_.outputs()) want(editor_.resolve(output));
    for (const core::GraphUpdate& update : editor_.updates()) want(editor_.resolve(update.port));
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
  }

  void want(Port port) {
    Index index = editor_.producer(port);
    if (known_[index] == 0) return;
    while (editor_.definition(index).is(Traits::view)) {
      port = editor_.input(index, 0);
      index = editor_.producer(port);
    }
    const OpId op = editor_.node(index).op;
    if (op == OpId::constant) return;
    const std::size_t bytes = bytes_of(port);
    // A tensor of one number stays a number, which rules and kernels can see, rather than become an array.
    if (op == OpId::fill && element_count(editor_.shape(port)) != 1) return;
    // Packed weights take the place of weights, though they may be a little larger.
    const bool instead = op == OpId::pack_weights || bytes < known_[index];
    if (instead || bytes <= context_.options.fold_limit) wanted_.push_back(port);
  }

  // Folds in parts: the operands of large constants are freed before the next ones are computed.
  void fold() {
    for (std::size_t begin = 0, end = 0; begin < wanted_.size(); begin = end) {
      std::size_t bytes = 0;
      while (end < wanted_.size() && (end == begin || bytes + bytes_of(wanted_[end]) <= part_bytes)) {
        bytes += bytes_of(wanted_[end++]);
      }
      fold(std::span(wanted_).subspan(begin, end - begin));
      if (end != wanted_.size()) editor_.discard_dead_constants();
    }
    context_.fired("folded", wanted_.size());
  }

  void fold(std::span<const Port> wanted) {
    core::GraphBuilder builder;
    std::vector<Index> needed;
    std::vector<bool> seen(editor_.index_limit(), false);
    for (const Port port : wanted) visit(editor_.producer(port), seen, needed);
    std::vector<Port> place(port_limit(needed), core::no_port);
    std::vector<Port> inputs;
    std::vector<core::TensorType> types;
    for (const Index index : needed) {
      const GraphNode& node = editor_.node(index);
      inputs.clear();
      types.clear();
      for (const Port input : editor_.inputs(index)) inputs.push_back(place[input]);
      for (std::uint32_t i = 0; i < node.result_count; ++i) types.push_back(editor_.type(node.first_result + i));
      const Port first = builder.add(node.op, node.attributes, inputs, types, node.label);
      for (std::uint32_t i = 0; i < node.result_count; ++i) place[node.first_result + i] = first + i;
    }
    for (const Port port : wanted) builder.add_output(place[port]);
    std::vector<core::Array> arrays = context_.options.evaluate(builder.finish());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      editor_.replace(wanted[i], editor_.add_constant(editor_.producer(wanted[i]), std::move(arrays[i])));
    }
  }

  void visit(Index root, std::vector<bool>& seen, std::vector<Index>& order) {
    std::vector<std::pair<Index, std::uint32_t>> stack{{root, 0}};
    if (seen[root]) return;
    seen[root] = true;
    while (!stack.empty()) {
      auto& [index, next] = stack.back();
      if (next == editor_.node(index).input_count) {
        order.push_back(index);
        stack.pop_back();
        continue;
      }
      const Index input = editor_.producer(editor_.input(index, next++));
      if (seen[input]) continue;
      seen[input] = true;
      stack.emplace_back(input, 0);
    }
  }

  std::size_t port_limit(std::span<const Index> nodes) const {
    std::size_t limit = 0;
    for (const Index index : nodes) {
      const GraphNode& node = editor_.node(index);
      limit = std::max<std::size_t>(limit, node.first_result + node.result_count);
    }
    return limit;
  }

  PassContext& context_;
  GraphEditor& editor_;
  std::vector<std::size_t> known_;
  std::vector<Port> wanted_;
};

}  // namespace

void fold_constants(PassContext& context) {
  if (context.options.evaluate) ConstantFolder(context).run();
}

}  // namespace tyto::optimiser
