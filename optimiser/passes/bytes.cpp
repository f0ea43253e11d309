// SPDX-License-Identifier: MIT
// Products of bytes: a matrix product of integers that were widened from 8 bits to 32 reads them as they are, and so
// does a convolution of them in f32 that holds its sums exactly. It comes before constants are folded, which would keep
// weights in 32 bits.
#include <algorithm>
#include <cstdlib>
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

/// A version of a state has the type of the state, and perhaps no operand.
bool is_view(GraphEditor& editor, Index i) {
  return editor.node(i).op != OpId::read && editor.node(i).input_count == 1 && editor.definition(i).is(Traits::view);
}

/// The node whose elements these views show, which are added to `views`.
Index node_behind(GraphEditor& editor, Port port, std::vector<Index>& views) {
  Index node = editor.producer(port);
  VisitBudget reach;
  for (int depth = 1; is_view(editor, node) && reach.allows(depth); ++depth) {
    views.push_back(node);
    node = editor.producer(editor.input(node, 0));
  }
  return node;
}

/// What a tensor is the widened form of; no port if it is none, or of more bits.
Bytes narrow_form(GraphEditor& editor, Port wide) {
  Bytes bytes;
  const Index node = node_behind(editor, wide, bytes.views);
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

/// Whether f32 holds every sum of products of u8 with these constant weights, (window..., in, out), in any order.
bool f32_holds_sums(PassContext& context, const Bytes& weights, const Shape& shape) {
  constexpr std::int64_t most = (std::int64_t{1} << 24) / 255;  // of the sum of weights without their signs
  GraphEditor& editor = context.editor;
  std::vector<Index> views = weights.views;
  const core::GraphNode stored = editor.node(node_behind(editor, weights.port, views));
  if (stored.op != OpId::constant) return false;
  const std::int64_t channels = shape.back(), terms = channels == 0 ? 0 : element_count(shape) / channels;
  if (terms * 128 <= most) return true;
  if (!context.options.evaluate) return false;
  core::GraphBuilder builder;
  const core::TensorType type = editor.type(stored.first_result);
  Port port = builder.add(OpId::constant, stored.attributes, {}, {&type, 1}, nullptr);
  for (auto each = views.rbegin(); each != views.rend(); ++each) {
    port = builder.add(editor.node(*each).op, editor.node(*each).attributes, {&port, 1});
  }
  builder.add_output(builder.add(OpId::copy, core::NoAttributes{}, {port}));
  const core::Array dense = context.options.evaluate(builder.finish()).front();
  const auto* const elements = static_cast<const std::int8_t*>(dense.buffer->memory()) + dense.view.offset;
  std::vector<std::int64_t> sums(static_cast<std::size_t>(channels));
  for (std::int64_t term = 0; term < terms; ++term) {
    const std::int8_t* const row = elements + term * channels;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += std::abs(row[i]);
  }
  return std::ranges::all_of(sums, [](std::int64_t sum) { return sum <= most; });
}

/// Where the device multiplies bytes of these sizes faster than it does floating-point numbers, it packs their weights.
void convolve_bytes(PassContext& context, Index index) {
  GraphEditor& editor = context.editor;
  const core::GraphNode product = editor.node(index);
  if (editor.dtype(product.first_result) != DType::f32 || !context.options.packed_bytes) return;
  const Bytes x = narrow_form(editor, editor.input(index, 0)), weights = narrow_form(editor, editor.input(index, 1));
  if (x.port == core::no_port || weights.port == core::no_port) return;
  if (editor.dtype(x.port) != DType::u8 || editor.dtype(weights.port) != DType::i8) return;
  core::ProductAttributes form;
  form.window = editor.attributes_as<core::WindowAttributes>(index);
  const Shape kernel = editor.shape(editor.input(index, 1));
  core::ProductAttributes sizes = form;
  sizes.left = editor.shape(editor.input(index, 0));
  sizes.weights = kernel;
  if (context.options.packed_bytes(OpId::convolution_epilogue, sizes, DType::u8) == 0) return;
  if (!f32_holds_sums(context, weights, kernel)) return;
  const Port operands[] = {seen(editor, index, x), seen(editor, index, weights)};
  const Port sums = editor.add(index, OpId::convolution_epilogue, form, operands);
  editor.replace(product.first_result, editor.add(index, OpId::cast, core::CastAttributes{DType::f32}, {sums}));
  context.fired("bytes");
}

}  // namespace

void multiply_bytes(PassContext& context) {
  GraphEditor& editor = context.editor;
  if (editor.count(OpId::matmul) == 0 && editor.count(OpId::convolution) == 0) return;
  editor.sweep([&](Index index) {
    const core::GraphNode product = editor.node(index);
    if (product.op == OpId::convolution) return convolve_bytes(context, index);
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
