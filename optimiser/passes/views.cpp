// SPDX-License-Identifier: MIT
// Views: chains become one view, views that change nothing go, tensors of one number become that number stretched.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "core/value/shape.hpp"
#include "optimiser/passes/families.hpp"
#include "optimiser/passes/rule.hpp"
#include "optimiser/passes/visit_budget.hpp"

namespace tyto::optimiser {

namespace {

using core::AxesAttributes;
using core::ListAttributes;
using core::SliceAttributes;

const Shape& source_shape(const Match& m) { return m.editor.shape(m.tensor('x')); }
const IntList& list_of(const Match& m, std::size_t node) {
  return m.editor.attributes_as<ListAttributes>(m.node(node)).list;
}
const SliceAttributes& slice_of(const Match& m, std::size_t node) {
  return m.editor.attributes_as<SliceAttributes>(m.node(node));
}
Port viewed(Match& m) { return m.tensor('x'); }

const Condition same_shape{"the shape stays", [](const Match& m) { return source_shape(m) == m.shape(); }};

Port single_broadcast(Match& m) { return stretched(m.editor, m.root, m.tensor('x'), Shape(m.shape())); }

const Condition order_kept{"axes stay in order",
                           [](const Match& m) { return std::is_sorted(list_of(m, 0).begin(), list_of(m, 0).end()); }};
const Condition only_unit_axes_move{"only axes of length 1 move", [](const Match& m) {
                                      std::int64_t last = -1;
                                      for (const std::int64_t axis : list_of(m, 0)) {
                                        if (source_shape(m)[static_cast<std::size_t>(axis)] == 1) continue;
                                        if (axis < last) return false;
                                        last = axis;
                                      }
                                      return true;
                                    }};
Port single_transpose(Match& m) {
  IntList order = list_of(m, 0);
  for (std::int64_t& axis : order) axis = list_of(m, 1)[static_cast<std::size_t>(axis)];
  return m.editor.add(m.root, OpId::transpose, ListAttributes{std::move(order)}, {m.tensor('x')});
}

const Condition leading_ones_only{"the reshape only puts ones in front", [](const Match& m) {
                                    const Shape& from = source_shape(m);
                                    const Shape& to = list_of(m, 1);
                                    if (to.size() < from.size()) return false;
                                    const std::size_t extra = to.size() - from.size();
                                    return std::all_of(to.begin(), to.begin() + extra,
                                                       [](std::int64_t n) { return n == 1; }) &&
                                           std::equal(from.begin(), from.end(), to.begin() + extra);
                                  }};

const Condition everything{"it takes everything in order", [](const Match& m) {
                             const SliceAttributes& range = slice_of(m, 0);
                             for (std::size_t i = 0; i < range.count.size(); ++i) {
                               if (range.count[i] != source_shape(m)[i] || (range.count[i] > 1 && range.step[i] != 1))
                                 return false;
                             }
                             return true;
                           }};
// Element i of the outer slice is element start + i * step of the inner one.
Port single_slice(Match& m) {
  SliceAttributes range = slice_of(m, 0);
  const SliceAttributes& inner = slice_of(m, 1);
  for (std::size_t i = 0; i < range.count.size(); ++i) {
    range.start[i] = inner.start[i] + range.start[i] * inner.step[i];
    range.step[i] *= inner.step[i];
  }
  return m.editor.add(m.root, OpId::slice, std::move(range), {m.tensor('x')});
}

const Condition axes_of_one{"the axes have length 0 or 1", [](const Match& m) {
                              const auto& axes = m.editor.attributes_as<AxesAttributes>(m.root).axes;
                              return std::ranges::all_of(axes, [&](std::int64_t a) {
                                return source_shape(m)[static_cast<std::size_t>(a)] <= 1;
                              });
                            }};
Port single_flip(Match& m) {
  const IntList& outer = m.editor.attributes_as<AxesAttributes>(m.node(0)).axes;
  const IntList& inner = m.editor.attributes_as<AxesAttributes>(m.node(1)).axes;
  AxesAttributes once;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(m.shape().size()); ++axis) {
    const bool flipped = std::ranges::find(outer, axis) != outer.end();
    if (flipped != (std::ranges::find(inner, axis) != inner.end())) once.axes.push_back(axis);
  }
  if (once.axes.empty()) return m.tensor('x');
  return m.editor.add(m.root, OpId::flip, std::move(once), {m.tensor('x')});
}

const Condition no_border{"nothing is added", [](const Match& m) { return source_shape(m) == m.shape(); }};

const Condition one_process{"there is one process", [](const Match& m) {
                              return m.editor.attributes_as<core::CollectiveAttributes>(m.root).processes == 1;
                            }};

// A view of a number is that number, stretched: the kernels read it with stride 0 instead of writing a tensor.
bool looks_at_elements(const OpDef& def) {
  switch (def.id) {
    case OpId::reshape:
    case OpId::transpose:
    case OpId::broadcast_to:
    case OpId::slice:
    case OpId::flip:
    case OpId::diagonal: return true;
    default: return false;
  }
}
const Condition one_number{"x is one number, not stretched yet", [](const Match& m) {
                             if (m.editor.definition(m.root).id == OpId::broadcast_to && source_shape(m).empty())
                               return false;
                             return scalar_of(m.editor, m.tensor('x')).has_value();
                           }};
Port stretched_number(Match& m) {
  const Port number = m.editor.add_scalar(m.root, *scalar_of(m.editor, m.tensor('x')), m.dtype());
  return stretched(m.editor, m.root, number, Shape(m.shape()));
}
const Condition several{"of more than one element", [](const Match& m) { return element_count(m.shape()) > 1; }};
Port stretched_fill(Match& m) {
  const Port number = m.editor.add_scalar(m.root, *scalar_of(m.editor, m.result()), m.dtype());
  return stretched(m.editor, m.root, number, Shape(m.shape()));
}

// Element-wise operators stretch their operands themselves; where all operands were stretched, so is the result.
const Condition some_stretched{"some operand was stretched", [](const Match& m) {
                                 return std::ranges::any_of(m.editor.inputs(m.root), [&](Port port) {
                                   return m.editor.node(m.editor.producer(port)).op == OpId::broadcast_to;
                                 });
                               }};
Port on_sources(Match& m) {
  GraphEditor& editor = m.editor;
  std::vector<Port> sources;
  for (const Port port : editor.inputs(m.root)) {
    const GraphEditor::Index producer = editor.producer(port);
    sources.push_back(editor.node(producer).op == OpId::broadcast_to ? editor.input(producer, 0) : port);
  }
  const Port result = editor.add(m.root, editor.node(m.root).op, editor.node(m.root).attributes, sources);
  return stretched(editor, m.root, result, Shape(m.shape()));
}

// clang-format off
const Rule view_table[] = {
    {"stop_gradient",          "stop_gradient(x)",          "x",               {}},
    {"alias",                  "alias(x)",                  "x",               {}},
    {"copy",                   "copy(x)",                   "x",               {}},
    {"version",                "read(x)",                   "x",               {}},
    {"with_gradient",          "with_gradient(x, ...)",     "x",               {}},

    {"reshape_to_own_shape",   "reshape(x)",                "x",               {&same_shape}, viewed},
    {"reshape_of_reshape",     "reshape(reshape(x))",       "reshape(x)",      {}, reshaped_operand},
    {"transpose_of_nothing",   "transpose(x)",              "x",               {&order_kept}, viewed},
    {"transpose_of_unit_axes", "transpose(x)",              "reshape(x)",      {&only_unit_axes_move}, reshaped_operand},
    {"transpose_of_transpose", "transpose(transpose(x))",   "transpose(x)",    {}, single_transpose},
    {"broadcast_to_own_shape", "broadcast_to(x)",           "x",               {&same_shape}, viewed},
    {"broadcast_of_broadcast", "broadcast_to(broadcast_to(x))", "broadcast_to(x)", {}, single_broadcast},
    {"broadcast_of_new_axes",  "broadcast_to(reshape(x))",  "broadcast_to(x)", {&leading_ones_only}, single_broadcast},
    {"slice_of_everything",    "slice(x)",                  "x",               {&everything}, viewed},
    {"slice_of_slice",         "slice(slice(x))",           "slice(x)",        {}, single_slice},
    {"flip_of_one",            "flip(x)",                   "x",               {&axes_of_one}, viewed},
    {"flip_of_flip",           "flip(flip(x))",             "flip(x)",         {}, single_flip},
    {"all_reduce_of_one",      "all_reduce(x)",             "x",               {&one_process}},
    {"all_gather_of_one",      "all_gather(x)",             "reshape(x)",      {&one_process}, reshaped_operand},
    {"reduce_scatter_of_one",  "reduce_scatter(x)",         "reshape(x)",      {&one_process}, reshaped_operand},
    {"broadcast_of_one",       "broadcast(x)",              "x",               {&one_process}},
    {"barrier_of_one",         "barrier(x)",                "x",               {&one_process}},
    {"send_of_one",            "send(x)",                   "x",               {&one_process}},
    {"recv_of_one",            "recv(x)",                   "x",               {&one_process}},
    {"concat_of_one",          "concat(x)",                 "x",               {}},
    {"pad_by_nothing",         "pad(x)",                    "x",               {&no_border}, viewed},

    {"fill_of_number",         "fill()",                    "broadcast_to(number)", {&several}, stretched_fill},
    {"view_of_number",         "op(x)",                     "broadcast_to(number)", {&one_number}, stretched_number, looks_at_elements},
    {"stretched_operands",     "op(...)",                   "op on what was stretched, stretched if need be", {&some_stretched}, on_sources, works_on_elements},
};
// clang-format on

}  // namespace

std::span<const Rule> view_rules() { return view_table; }

}  // namespace tyto::optimiser
