// SPDX-License-Identifier: MIT
// bump: every block its own bytes, in order of birth. The baseline, and the plan under which reuse cannot be at fault.
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {

Placement bump(const Problem& p, const Effort&) {
  Placement placement;
  placement.offsets = p.fixed;
  Bytes top = p.fixed_top();
  for (const Index i : arrange(p, Order::birth)) {
    const auto at = static_cast<std::size_t>(i);
    if (p.fixed[at] != not_fixed) continue;
    placement.offsets[at] = p.align(top, i);
    top = placement.offsets[at] + p.size[at];
  }
  placement.height = height_of(p, placement.offsets);
  return placement;
}

}  // namespace tyto::memory
