// SPDX-License-Identifier: MIT
// Transposes: two that undo each other meet through what lies between them, if that works as well on permuted axes, and
// go: element-wise operators, and those that join, pad or cut. What else is read of those operators is a view of what
// they give now, so that nothing is computed twice.
//
// Products need no help with their operands: they read them by their strides, so a transpose before one is a view and
// costs nothing. A transposed result is not stored as its consumers want it; so products compute it transposed.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/families.hpp"
#include "optimiser/passes/rule.hpp"
#include "optimiser/passes/visit_budget.hpp"

namespace tyto::optimiser {

namespace {

using core::ListAttributes;
using Index = GraphEditor::Index;

/// Takes a transpose back to the operands that undo it.
class Mover {
 public:
  explicit Mover(Match& match) : match_(match), editor_(match.editor) {
    order_ = editor_.attributes_as<ListAttributes>(match.root).list;
  }

  /// Whether `port` permuted can be had without permuting anything of its size: it is another such permuted tensor, or
  /// computed from such by operators that work on any axes.
  bool undoes(Port port, int depth = 1) {
    const Index producer = editor_.producer(port);
    if (editor_.node(producer).op == OpId::transpose) {
      const IntList& inner = editor_.attributes_as<ListAttributes>(producer).list;
      for (std::size_t i = 0; i < order_.size(); ++i) {
        if (inner[static_cast<std::size_t>(order_[i])] != static_cast<std::int64_t>(i)) return false;
      }
      return true;
    }
    if (!reach_.allows(depth) || !permutes(producer)) return false;
    bool some = false;
    for (const Port operand : editor_.inputs(producer)) {
      if (!is_full(operand, producer)) continue;
      if (!undoes(operand, depth + 1)) return false;
      some = true;
    }
    return some;
  }

  Port permuted(Port port) {
    const Index producer = editor_.producer(port);
    if (editor_.node(producer).op == OpId::transpose) return editor_.input(producer, 0);
    std::vector<Port> operands(editor_.inputs(producer).begin(), editor_.inputs(producer).end());
    for (Port& operand : operands) operand = is_full(operand, producer) ? permuted(operand) : permuted_small(operand);
    const Port moved = add_permuted(producer, operands);
    // Its only consumer is on the way to the root, which is replaced; other consumers read a view of the new result.
    if (editor_.consumers(port) > 1) {
      IntList back(order_.size(), 0);
      for (std::size_t i = 0; i < order_.size(); ++i) {
        back[static_cast<std::size_t>(order_[i])] = static_cast<std::int64_t>(i);
      }
      editor_.replace(port, editor_.add(match_.root, OpId::transpose, ListAttributes{back}, {moved}));
    }
    return moved;
  }

 private:
  static bool is_any_of(OpId op, std::initializer_list<OpId> list) {
    return std::find(list.begin(), list.end(), op) != list.end();
  }
  static bool names_axes(OpId op) { return is_any_of(op, {OpId::concat, OpId::pad, OpId::slice}); }
  bool permutes(Index node) const {
    return works_on_elements(editor_.definition(node)) || names_axes(editor_.node(node).op);
  }

  // An element-wise operator may stretch small operands to its result; the others have none that are small.
  bool is_full(Port port, Index consumer) const {
    if (names_axes(editor_.node(consumer).op)) return true;
    const Shape& whole = editor_.shape(editor_.node(consumer).first_result);
    return editor_.shape(port).size() == whole.size() && element_count(editor_.shape(port)) == element_count(whole);
  }

  /// A number for each axis, in the order of the permuted axes.
  IntList permuted_list(const IntList& list) const {
    IntList permuted(order_.size(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i) permuted[i] = list[static_cast<std::size_t>(order_[i])];
    return permuted;
  }

  Port add_permuted(Index node, std::span<const Port> operands) {
    const OpId op = editor_.node(node).op;
    switch (op) {
      case OpId::concat: {
        auto of = editor_.attributes_as<core::AxisAttributes>(node);
        of.axis = std::find(order_.begin(), order_.end(), of.axis) - order_.begin();
        return editor_.add(match_.root, op, of, operands);
      }
      case OpId::pad: {
        auto of = editor_.attributes_as<core::PadAttributes>(node);
        of.before = permuted_list(of.before);
        of.after = permuted_list(of.after);
        return editor_.add(match_.root, op, of, operands);
      }
      case OpId::slice: {
        auto of = editor_.attributes_as<core::SliceAttributes>(node);
        of.start = permuted_list(of.start);
        of.count = permuted_list(of.count);
        of.step = permuted_list(of.step);
        return editor_.add(match_.root, op, of, operands);
      }
      default: return editor_.add(match_.root, op, editor_.node(node).attributes, operands);
    }
  }

  // A small operand is stretched along some axes: given all of them, its axes are permuted too, by a view.
  Port permuted_small(Port port) {
    if (editor_.shape(port).empty()) return port;
    Shape shape = editor_.shape(port);
    while (shape.size() < order_.size()) shape.insert(0, 1);
    const Port whole = reshaped(editor_, match_.root, port, shape);
    return editor_.add(match_.root, OpId::transpose, ListAttributes{order_}, {whole});
  }

  Match& match_;
  GraphEditor& editor_;
  IntList order_;
  VisitBudget reach_;
};

const Condition undone_above{"every full-size operand above is transposed the other way", [](const Match& m) {
                               Match copy = m;
                               const Index above = m.editor.producer(m.tensor('x'));
                               return m.editor.node(above).op != OpId::transpose && Mover(copy).undoes(m.tensor('x'));
                             }};
Port moved(Match& m) { return Mover(m).permuted(m.tensor('x')); }

/// The order of a transpose of matrices or stacks of them, when the matrices' own two axes stay last.
enum class Matrices { kept, transposed };
template <Matrices matrices>
bool moves(const Match& m) {
  const IntList& order = m.editor.attributes_as<ListAttributes>(m.root).list;
  const std::size_t last = order.size() - 1;
  const auto row = static_cast<std::int64_t>(last - 1), column = static_cast<std::int64_t>(last);
  return matrices == Matrices::transposed ? order[last] == row && order[last - 1] == column
                                          : order[last] == column && order[last - 1] == row;
}
const Condition matrices_transposed{"rows and columns change places, stacks as may be", moves<Matrices::transposed>};
const Condition only_stacks{"rows and columns stay", moves<Matrices::kept>};
// Weights are packed, and get a bias a column, where they stand on the right.
const Condition no_weights{"y is no input or constant, nor a view of one", [](const Match& m) {
                             Index producer = m.editor.producer(m.tensor('y'));
                             const auto seen_through = [&] {
                               const core::GraphNode& node = m.editor.node(producer);
                               return node.input_count != 0 &&
                                      (node.op == OpId::cast || m.editor.definition(producer).is(Traits::view));
                             };
                             while (seen_through()) {
                               producer = m.editor.producer(m.editor.input(producer, 0));
                             }
                             return m.editor.node(producer).input_count != 0;
                           }};
template <Matrices matrices>
Port product_of_transposed(Match& m) {
  const ListAttributes order = m.editor.attributes_as<ListAttributes>(m.root);
  const Port x = m.editor.add(m.root, OpId::transpose, order, {m.tensor('x')});
  const Port y = m.editor.add(m.root, OpId::transpose, order, {m.tensor('y')});
  if (matrices == Matrices::transposed) return m.editor.add(m.root, OpId::matmul, {}, {y, x});
  return m.editor.add(m.root, OpId::matmul, {}, {x, y});
}

// clang-format off
const Rule transpose_table[] = {
    {"transposes_meet", "transpose(x)", "x computed from what was transposed", {&undone_above}, moved},
    {"transposed_product", "transpose(matmul(x, y)!)", "matmul(transpose(y), transpose(x))", {&matrices_transposed, &no_weights}, product_of_transposed<Matrices::transposed>},
    {"permuted_products", "transpose(matmul(x, y)!)", "matmul(transpose(x), transpose(y))", {&only_stacks}, product_of_transposed<Matrices::kept>},
};
// clang-format on

}  // namespace

std::span<const Rule> transpose_rules() { return transpose_table; }

}  // namespace tyto::optimiser
