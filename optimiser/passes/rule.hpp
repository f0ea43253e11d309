// SPDX-License-Identifier: MIT
// Rewrite rules as lines: `pattern -> replacement, conditions`, each with a name.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/pass.hpp"
#include "optimiser/passes/scalar_constant.hpp"
#include "optimiser/passes/term.hpp"

namespace tyto::optimiser {

/// The bindings of a matched pattern. One is made for every pattern that is tried, so its tables begin unset.
class Match {
 public:
  static constexpr std::size_t letters = 26;

  Match(PassContext& of, GraphEditor::Index at) : context(of), editor(of.editor), root(at) {}

  PassContext& context;
  GraphEditor& editor;
  GraphEditor::Index root;

  /// The tensor bound to a small letter.
  core::Port tensor(char letter) const { return tensors_[static_cast<std::size_t>(letter - 'a')]; }
  /// The number bound to a capital letter.
  const Scalar& number(char letter) const { return *numbers_[static_cast<std::size_t>(letter - Term::first_number)]; }
  /// The tensor whose elements are all that number.
  core::Port tensor_of_scalar(char letter) const {
    return number_tensors_[static_cast<std::size_t>(letter - Term::first_number)];
  }
  /// Nodes that the pattern's operators stand for, in the order in which the pattern names them; 0 is the root.
  GraphEditor::Index node(std::size_t i) const { return nodes_[i]; }

  core::Port result() const { return editor.node(root).first_result; }
  const Shape& shape() const { return editor.shape(result()); }
  DType dtype() const { return editor.dtype(result()); }
  bool is_floating() const { return tyto::is_floating(dtype()); }
  /// Whether it is arithmetic on complex numbers.
  bool is_complex() const;

 private:
  friend class Matcher;

  static constexpr std::size_t numbers = Term::last_number - Term::first_number + 1;

  std::array<core::Port, letters> tensors_;
  std::array<std::optional<Scalar>, numbers> numbers_;
  std::array<core::Port, numbers> number_tensors_;
  std::array<GraphEditor::Index, 8> nodes_;
  std::size_t node_count_ = 0;
  std::uint32_t bound_ = 0;  // letters bound to a tensor, by bit
};

/// A condition of a rule besides its pattern, with the words that name it in the documentation.
struct Condition {
  std::string_view words;
  bool (*holds)(const Match&);
};

/// Pattern and replacement are written `operator(operand, ...)`. Operands:
///   x, y, ...   any tensor; the same letter twice means the same tensor
///   C, D        a tensor all of whose elements are one number known now
///   0, -0, 0.5  such a tensor of that number; 0 and -0 are two numbers
///   ...         as the last operand: any further operands
/// In a rule for each operator with certain traits, `op` is that operator, and `identity` and `absorbing` are its
/// elements. An operator with `!` behind its parenthesis must have no consumer but the pattern. Operands of commutative
/// operators may stand in either order. A replacement must have the root's type; a shape that broadcasts to the root's
/// is stretched.
struct Rule {
  std::string_view name;
  std::string_view pattern;
  std::string_view replacement;  ///< for people when `rewrite` is given
  std::array<const Condition*, 4> when = {};
  /// The replacement in code, where attributes are computed. Gives no_port, having added nothing, to decline.
  core::Port (*rewrite)(Match&) = nullptr;
  /// For a rule of many operators: which of them.
  bool (*each)(const core::OpDef&) = nullptr;
};

/// The rules of one pass, made ready for matching.
class RuleSet {
 public:
  explicit RuleSet(std::span<const Rule> rules);
  /// Sweeps over the graph once, inputs first, applying at each node the first rule that fits.
  void apply(PassContext& context) const;

 private:
  friend class Matcher;

  /// A filter on a node's first operands that rules out most patterns before they are matched.
  struct OperandFilter {
    std::array<core::OpId, 2> op{core::no_operator, core::no_operator};  // of the producers; no_operator: any
    std::array<bool, 2> number{};
    bool equal = false;
  };
  struct Variant {
    const Rule* rule;
    Term pattern;
    Term replacement;
    OperandFilter first = {};
    std::vector<core::OpId> parts = {};  // operators of the pattern except the root's

    bool possible(const OperandFilter& operands) const;
  };
  /// The variants of one sweep: those all of whose operators the graph has.
  struct Choice {
    std::array<std::uint32_t, core::op_count + 1> first{};
    std::vector<const Variant*> variants;
  };

  void add(const Rule& rule, const core::OpDef* each);
  void describe(Variant& variant) const;
  core::Port build(Match& match, const Term& term, DType dtype, const Shape& shape) const;
  core::Port rewritten(Match& match, const Variant& variant) const;
  Choice choice_for(const GraphEditor& editor) const;
  bool try_rules(PassContext& context, GraphEditor::Index index, std::span<const Variant* const> variants) const;

  std::array<std::vector<Variant>, core::op_count> by_root_;
};

/// The pass that applies a table of rules.
template <std::span<const Rule> (*table)()>
void apply_rules(PassContext& context) {
  static const RuleSet set(table());
  set.apply(context);
}

/// The tensor as another of `shape`, which it broadcasts to.
core::Port stretched(GraphEditor& editor, GraphEditor::Index at, core::Port port, const Shape& shape);
/// The tensor with its elements, in order, in another shape.
core::Port reshaped(GraphEditor& editor, GraphEditor::Index at, core::Port port, const Shape& shape);
/// A replacement: x in the root's shape.
core::Port reshaped_operand(Match& m);

// Conditions that several families use.
extern const Condition integral;          // the root's elements are integers or bool
extern const Condition floating;          // the root's elements are floating
extern const Condition fast_math;         // asked for by the user
extern const Condition integral_or_fast;  // exact in integers, rounded otherwise in floating-point types

}  // namespace tyto::optimiser
