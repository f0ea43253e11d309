// SPDX-License-Identifier: MIT
// shared_objects: whole objects after Pisarchyk and Lee, the largest blocks first.
#include "optimiser/memory/published/objects.hpp"
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {

// Each block takes the smallest object that is large enough and free during its lifetime, else the largest free one.
Placement shared_objects(const Problem& p, const Effort&) {
  Objects objects(p);
  std::vector<Index> seen;  // by object: the block that last found it taken
  for (const Index i : arrange(p, Order::size)) {
    const auto at = static_cast<std::size_t>(i);
    if (p.fixed[at] != not_fixed) continue;
    seen.resize(static_cast<std::size_t>(objects.count()), -1);
    p.for_each_neighbour(i, [&](Index j) {
      const Index object = objects.object_of(j);
      if (object != Objects::none) seen[static_cast<std::size_t>(object)] = i;
    });
    Index best = Objects::none;
    for (Index object = 0; object < objects.count(); ++object) {
      if (seen[static_cast<std::size_t>(object)] == i) continue;
      if (best == Objects::none) {
        best = object;
        continue;
      }
      const Bytes have = objects.size(best);
      const Bytes size = objects.size(object);
      const bool better = have >= p.padded[at] ? size >= p.padded[at] && size < have : size > have;
      if (better) best = object;
    }
    objects.join(i, best != Objects::none ? best : objects.open());
  }
  return objects.side_by_side();
}

}  // namespace tyto::memory
