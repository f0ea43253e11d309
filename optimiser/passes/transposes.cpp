// Transposes: two that undo each other meet through the element-wise operators between them and go. What else is read
// of those operators is a view of what they give now, so that nothing is computed twice.
//
// Products need no help: they read transposed operands by their strides, so a transpose before one is a view and costs
// nothing.
#include <algorithm>

#include "optimiser/passes/families.hpp"
#include "optimiser/passes/rule.hpp"

namespace tyto::optimiser {

namespace {

using core::ListAttributes;
using core::OpId;
using core::Port;
using core::Traits;
using Index = Draft::Index;

// Operators that a transpose is looked through, one behind the other, and in all.
constexpr int longest_path = 16;
constexpr int most_visits = 64;

class Mover {
 public:
  explicit Mover(Match& match) : match_(match), draft_(match.draft) {
    order_ = draft_.attributes_as<ListAttributes>(match.root).list;
  }

  /// Whether `port` permuted can be had without permuting anything of full size: it is another such permuted tensor,
  /// or computed element by element from such.
  bool undoes(Port port, int depth = 0) {
    const Index producer = draft_.producer(port);
    if (draft_.node(producer).op == OpId::transpose) {
      const IntList& inner = draft_.attributes_as<ListAttributes>(producer).list;
      for (std::size_t i = 0; i < order_.size(); ++i) {
        if (inner[static_cast<std::size_t>(order_[i])] != static_cast<std::int64_t>(i)) return false;
      }
      return true;
    }
    if (depth == longest_path || ++visits_ > most_visits || !passes_through(producer)) return false;
    bool some = false;
    for (const Port operand : draft_.inputs(producer)) {
      if (!is_full(operand)) continue;
      if (!undoes(operand, depth + 1)) return false;
      some = true;
    }
    return some;
  }

  Port permuted(Port port) {
    const Index producer = draft_.producer(port);
    if (draft_.node(producer).op == OpId::transpose && is_full(port)) return draft_.input(producer, 0);
    if (!is_full(port)) return permuted_small(port);
    std::vector<Port> operands(draft_.inputs(producer).begin(), draft_.inputs(producer).end());
    for (Port& operand : operands) operand = permuted(operand);
    const auto attributes = draft_.node(producer).attributes;
    const Port moved = draft_.add(match_.root, draft_.node(producer).op, attributes, operands);
    // Its only reader is on the way to the root, which is replaced; others look at what it is from now on.
    if (draft_.readers(port) > 1) {
      IntList back(order_.size(), 0);
      for (std::size_t i = 0; i < order_.size(); ++i) {
        back[static_cast<std::size_t>(order_[i])] = static_cast<std::int64_t>(i);
      }
      draft_.replace(port, draft_.add(match_.root, OpId::transpose, ListAttributes{back}, {moved}));
    }
    return moved;
  }

 private:
  bool passes_through(Index index) const {
    const core::OpDef& def = draft_.definition(index);
    return def.is(Traits::elementwise) || def.id == OpId::cast;
  }
  bool is_full(Port port) const {
    return draft_.shape(port).size() == order_.size() && element_count(draft_.shape(port)) == full_size();
  }
  std::int64_t full_size() const { return element_count(match_.shape()); }

  // A small operand is stretched along some axes: given all of them, its axes are permuted too, by a view.
  Port permuted_small(Port port) {
    if (draft_.shape(port).empty()) return port;
    Shape shape = draft_.shape(port);
    while (shape.size() < order_.size()) shape.insert(0, 1);
    if (shape != draft_.shape(port)) port = draft_.add(match_.root, OpId::reshape, ListAttributes{shape}, {port});
    return draft_.add(match_.root, OpId::transpose, ListAttributes{order_}, {port});
  }

  Match& match_;
  Draft& draft_;
  IntList order_;
  int visits_ = 0;
};

const Condition undone_above{"every full-size operand above is transposed the other way", [](const Match& m) {
                               Match copy = m;
                               const Index above = m.draft.producer(m.tensor('x'));
                               return m.draft.node(above).op != OpId::transpose && Mover(copy).undoes(m.tensor('x'));
                             }};
Port moved(Match& m) { return Mover(m).permuted(m.tensor('x')); }

// clang-format off
const Rule rules[] = {
    {"transposes_meet", "transpose(x)", "x computed from what was transposed", {&undone_above}, moved},
};
// clang-format on

}  // namespace

std::span<const Rule> transpose_rules() { return rules; }

void cancel_transposes(PassContext& context) {
  static const RuleSet set(rules);
  set.apply(context);
}

}  // namespace tyto::optimiser
