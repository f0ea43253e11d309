// SPDX-License-Identifier: MIT
// Packing: weights that stay as they are from run to run are laid out as their product's kernel reads them, once.
// Packed constants fold; packed states are packed anew after they were assigned; what a loop captures is packed before
// it. Constant kernels that no layout is better for are at least made dense once.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

namespace {

using core::ProductAttributes;
using Index = GraphEditor::Index;

class Packer {
 public:
  explicit Packer(PassContext& context) : context_(context), editor_(context.editor), stays_(editor_.index_limit()) {
    for (std::size_t i = 0; i < editor_.graph_inputs().size(); ++i) {
      const core::GraphInput& input = editor_.graph_inputs()[i];
      const bool kept = input.state != nullptr && input.state->kind() != core::State::Kind::placeholder;
      stays_[editor_.producer(input.port)] = kept || i >= context.options.first_capture;
    }
    for (const core::GraphUpdate& update : editor_.updates()) {
      stays_[editor_.producer(editor_.graph_inputs()[update.input].port)] = false;
    }
  }

  void run() {
    editor_.sweep([&](Index index) { pack(index); });
  }

 private:
  /// A constant, or a state that this graph does not change.
  bool stays(Port port) {
    const Index producer = editor_.source(port);
    return editor_.node(producer).op == OpId::constant || (producer < stays_.size() && stays_[producer]);
  }

  /// Kernels of convolutions are read densely: a constant that lies otherwise, or is seen so through views, would be
  /// copied in every run.
  void make_dense(Index index, Port weights) {
    if (!context_.options.evaluate || editor_.node(editor_.source(weights)).op != OpId::constant) return;
    const auto [known, is_new] = dense_.try_emplace(weights, weights);
    if (is_new) known->second = dense_constant(index, weights);
    if (known->second == weights) return;
    const auto inputs = editor_.inputs(index);
    std::vector<Port> operands(inputs.begin(), inputs.end());
    operands[1] = known->second;
    const GraphNode node = editor_.node(index);
    const Port result = editor_.add(index, node.op, *node.attributes, operands);
    editor_.replace(node.first_result, result);
    context_.fired("made dense");
  }

  /// The same numbers as a dense constant before node `at`; the port itself if it is one, seen through views or not.
  Port dense_constant(Index at, Port weights) {
    std::vector<Index> views;
    for (Index node = editor_.producer(weights); editor_.node(node).op != OpId::constant;) {
      views.push_back(node);
      node = editor_.producer(editor_.input(node, 0));
    }
    const GraphNode& stored = editor_.node(editor_.source(weights));
    // Contents of states are dense.
    const auto* const array = std::get_if<core::ConstantAttributes>(stored.attributes.get());
    const core::TensorType type = editor_.type(stored.first_result);
    std::optional<core::View> view = array != nullptr ? array->array.view : core::View::dense(type.shape);
    core::GraphBuilder builder;
    Port port = builder.add(OpId::constant, stored.attributes, {}, {&type, 1}, nullptr);
    for (auto each = views.rbegin(); each != views.rend(); ++each) {
      const core::ViewRule rule = editor_.definition(*each).view;
      const GraphNode& node = editor_.node(*each);
      view = view && rule != nullptr ? rule(*node.attributes, *view) : std::nullopt;
      port = builder.add(node.op, node.attributes, {&port, 1});
    }
    if (view && core::is_dense(*view)) return weights;
    builder.add_output(builder.add(OpId::copy, core::NoAttributes{}, {port}));
    return editor_.add_constant(at, std::move(context_.options.evaluate(builder.finish()).front()));
  }

  void pack(Index index) {
    const OpId op = editor_.node(index).op;
    ProductAttributes product;
    OpId packed = op;
    switch (op) {
      case OpId::matmul: packed = OpId::matmul_epilogue; break;
      case OpId::convolution:
        packed = OpId::convolution_epilogue;
        product.window = editor_.attributes_as<core::WindowAttributes>(index);
        break;
      case OpId::matmul_epilogue:
      case OpId::convolution_epilogue:
        product = editor_.attributes_as<ProductAttributes>(index);
        if (product.packed) return;
        break;
      default: return;
    }
    const auto inputs = editor_.inputs(index);
    std::vector<Port> operands(inputs.begin(), inputs.end());
    if (!stays(operands[1])) return;
    product.left = editor_.shape(operands[0]);
    product.weights = editor_.shape(operands[1]);
    // Integers as they are recorded are multiplied in their own type; only passes make products of bytes.
    const DType dtype = editor_.dtype(operands[0]);
    const bool folds = dtype != DType::f16 || editor_.node(editor_.source(operands[1])).op == OpId::constant;
    const bool packs = folds && (op == packed || is_floating(dtype));
    product.bytes = packs ? context_.options.packed_bytes(packed, product, dtype) : 0;
    if (product.bytes == 0) {
      if (packed == OpId::convolution_epilogue) make_dense(index, operands[1]);
      return;
    }
    // Products in f16 multiply in f32, and so they pack what is widened once, when it is folded.
    if (dtype == DType::f16)
      operands[1] = editor_.add(index, OpId::cast, core::CastAttributes{DType::f32}, {operands[1]});
    operands[1] = editor_.add(index, OpId::pack_weights, product, {operands[1]});
    product.packed = true;
    const Port result = editor_.add(index, packed, product, operands);
    editor_.replace(editor_.node(index).first_result, result);
    context_.fired("packed");
  }

  PassContext& context_;
  GraphEditor& editor_;
  std::vector<bool> stays_;               // by node: a state that this graph does not change
  std::unordered_map<Port, Port> dense_;  // constant kernels that nothing packs, as convolutions are to read them
};

}  // namespace

void pack_weights(PassContext& context) {
  constexpr OpId products[] = {OpId::matmul, OpId::convolution, OpId::matmul_epilogue, OpId::convolution_epilogue};
  const bool any = std::ranges::any_of(products, [&](OpId op) { return context.editor.count(op) != 0; });
  if (context.options.packed_bytes && any) Packer(context).run();
}

}  // namespace tyto::optimiser
