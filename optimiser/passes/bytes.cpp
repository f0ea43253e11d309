// SPDX-License-Identifier: MIT
// Products of bytes: a matrix product of integers that were widened from 8 bits to 32 reads them as they are. It comes
// before constants are folded, which would keep weights in 32 bits.
#include <vector>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/pass.hpp"
#include "optimiser/passes/visit_budget.hpp"

namespace tyto::optimiser {

namespace {

using Index = GraphEditor::Index;

/// A tensor of 8 bits, and the views through which it is seen, outermost first.
struct Bytes {
  Port port = core::no_port;
  std::vector<Index> views = {};
};

/// What a tensor of i32 is the widened form of; no port if it is none, or of more bits.
Bytes narrow_form(GraphEditor& editor, Port wide) {
  Bytes bytes;
  Index node = editor.producer(wide);
  // A version of a state has the type of the state, and perhaps no operand.
  const auto is_view = [&](Index i) {
    return editor.node(i).op != OpId::read && editor.node(i).input_count == 1 && editor.definition(i).is(Traits::view);
  };
  VisitBudget reach;
  for (int depth = 1; is_view(node) && reach.allows(depth); ++depth) {
    bytes.views.push_back(node);
    node = editor.producer(editor.input(node, 0));
  }
  if (editor.node(node).op != OpId::cast) return {};
  bytes.port = editor.input(node, 0);
  const DType dtype = editor.dtype(bytes.port);
  return dtype == DType::u8 || dtype == DType::i8 ? bytes : Bytes{};
}

/// The same views of the bytes themselves, made before node `at`.
Port seen(GraphEditor& editor, Index at, const Bytes& bytes) {
  Port port = bytes.port;
  for (auto each = bytes.views.rbegin(); each != bytes.views.rend(); ++each) {
    const core::GraphNode view = editor.node(*each);
    port = editor.add(at, view.op, view.attributes, {&port, 1});
  }
  return port;
}

}  // namespace

void multiply_bytes(PassContext& context) {
  GraphEditor& editor = context.editor;
  if (editor.count(OpId::matmul) == 0) return;
  editor.sweep([&](Index index) {
    const core::GraphNode product = editor.node(index);
    if (product.op != OpId::matmul || editor.dtype(product.first_result) != DType::i32) return;
    const Bytes left = narrow_form(editor, editor.input(index, 0)), right = narrow_form(editor, editor.input(index, 1));
    if (left.port == core::no_port || right.port == core::no_port || editor.dtype(right.port) != DType::i8) return;
    const DType types[] = {editor.dtype(left.port), DType::i8}, result = DType::i32;
    if (context.options.supports && !context.options.supports(OpId::matmul_epilogue, types, {&result, 1})) return;
    const Port operands[] = {seen(editor, index, left), seen(editor, index, right)};
    editor.replace(product.first_result, editor.add(index, OpId::matmul_epilogue, core::ProductAttributes{}, operands));
    context.fired("bytes");
  });
}

}  // namespace tyto::optimiser
