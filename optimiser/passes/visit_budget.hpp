// SPDX-License-Identifier: MIT
// Limits how far rules search to move a view: along element-wise operators, so that passes stay near linear.
#pragma once

#include "core/graph/op_ids.hpp"

namespace tyto::optimiser {

/// Whether each element of the result depends on one element of each operand, so that a view may move across.
inline bool works_on_elements(const core::OpDef& def) {
  return def.is(core::Traits::elementwise) || def.id == core::OpId::cast;
}

/// How many operators one match may still visit.
class VisitBudget {
 public:
  /// Whether an operator may be visited that lies `depth` behind where the look began; counts the visit.
  bool allows(int depth) { return depth <= longest_path && ++visits_ <= most_visits; }

 private:
  static constexpr int longest_path = 16;
  static constexpr int most_visits = 64;

  int visits_ = 0;
};

}  // namespace tyto::optimiser
