// Packing: weights that stay as they are from run to run are laid out as their product's kernel reads them, once.
// Packed constants fold; packed states are packed anew after they were assigned.
#include <algorithm>

#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

namespace {

using core::OpId;
using core::Port;
using core::ProductAttributes;
using core::Traits;
using Index = Draft::Index;

class Packer {
 public:
  explicit Packer(PassContext& context) : context_(context), draft_(context.draft), updated_(draft_.index_limit()) {
    for (const core::GraphUpdate& update : draft_.updates()) {
      updated_[draft_.producer(draft_.graph_inputs()[update.input].port)] = true;
    }
    for (const core::GraphInput& input : draft_.graph_inputs()) {
      const bool kept = input.state != nullptr && input.state->kind() != core::State::Kind::placeholder;
      if (kept) states_.push_back(draft_.producer(input.port));
    }
  }

  void run() {
    draft_.sweep([&](Index index) { pack(index); });
  }

 private:
  /// A constant, or a state that this graph does not change, through any views.
  bool stays(Port port) {
    Index producer = draft_.producer(port);
    while (draft_.definition(producer).is(Traits::view) && draft_.node(producer).input_count != 0) {
      producer = draft_.producer(draft_.input(producer, 0));
    }
    if (draft_.node(producer).op == OpId::constant) return true;
    return producer < updated_.size() && !updated_[producer] &&
           std::find(states_.begin(), states_.end(), producer) != states_.end();
  }

  void pack(Index index) {
    const OpId op = draft_.node(index).op;
    ProductAttributes product;
    OpId packed = op;
    switch (op) {
      case OpId::matmul: packed = OpId::matmul_epilogue; break;
      case OpId::convolution:
        packed = OpId::convolution_epilogue;
        product.window = draft_.attributes_as<core::WindowAttributes>(index);
        break;
      case OpId::matmul_epilogue:
      case OpId::convolution_epilogue:
        product = draft_.attributes_as<ProductAttributes>(index);
        if (product.packed) return;
        break;
      default: return;
    }
    const auto inputs = draft_.inputs(index);
    std::vector<Port> operands(inputs.begin(), inputs.end());
    if (!stays(operands[1])) return;
    product.left = draft_.shape(operands[0]);
    product.weights = draft_.shape(operands[1]);
    product.bytes = context_.options.packed_bytes(packed, product, draft_.dtype(operands[1]));
    if (product.bytes == 0) return;
    operands[1] = draft_.add(index, OpId::pack_weights, product, {operands[1]});
    product.packed = true;
    const Port result = draft_.add(index, packed, product, operands);
    draft_.replace(draft_.node(index).first_result, result);
    context_.fired("packed");
  }

  PassContext& context_;
  Draft& draft_;
  std::vector<bool> updated_;  // by node
  std::vector<Index> states_;
};

}  // namespace

core::Graph pack_weights(core::Graph graph, const PassOptions& options, std::vector<RuleCount>& counts) {
  const auto is_product = [](const core::GraphNode& node) {
    return node.op == OpId::matmul || node.op == OpId::convolution || node.op == OpId::matmul_epilogue ||
           node.op == OpId::convolution_epilogue;
  };
  if (!options.packed_bytes || std::ranges::none_of(graph.nodes(), is_product)) return graph;
  Draft draft(std::move(graph));
  PassContext context(draft, options, false, counts);
  Packer(context).run();
  return draft.finish();
}

}  // namespace tyto::optimiser
