// SPDX-License-Identifier: MIT
// The ways to put tasks in order; each is a pure function of the problem, near linear in its size.
#pragma once

#include "optimiser/schedule/problem.hpp"

namespace tyto::schedule {

/// The recorded order, in which tasks are numbered.
Order recorded(const Problem& problem);

/// Post-order: what a task needs right before it, inputs in the order written. Good locality, blind to sizes.
Order depth_first(const Problem& problem);

/// Post-order with the inputs whose sub-trees have the largest (peak - what is left of it) first: least peak on trees
/// that are evaluated one sub-tree after the other (Sethi and Ullman's rule for sizes).
Order tree_rule(const Problem& problem);

/// `base`, but a ready task that frees at least what it makes (an update whose gradient exists, a reduction) runs at
/// once.
Order prompt(const Problem& problem, const Order& base);

/// `base`, but each update of a state runs at once, with all that is computed for it alone, when what it needs from
/// others exists and all others have read the old value. `base` itself when updates wait for each other.
Order whole_updates(const Problem& problem, const Order& base);

}  // namespace tyto::schedule
