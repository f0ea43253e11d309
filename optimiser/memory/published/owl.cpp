// SPDX-License-Identifier: MIT
// owl: Algorithm 1 of the Owl report with its defects mended; whole blocks are reused in time order.
#include <algorithm>
#include <utility>

#include "optimiser/memory/published/objects.hpp"
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {
namespace {

// Free objects by size. Few are free at a time, so a sorted vector is both small and quick.
class FreeObjects {
 public:
  void add(Bytes size, Index object) {
    const std::pair entry(size, object);
    free_.insert(std::lower_bound(free_.begin(), free_.end(), entry), entry);
  }
  // The smallest of at least `size` that `usable` accepts, else the largest accepted one, else none.
  template <typename Usable>
  Index take(Bytes size, Usable&& usable) {
    const auto fits = std::lower_bound(free_.begin(), free_.end(), std::pair(size, Index{0}));
    for (auto it = fits; it != free_.end(); ++it) {
      if (usable(it->second)) return remove(it);
    }
    for (auto it = fits; it != free_.begin();) {
      --it;
      if (usable(it->second)) return remove(it);
    }
    return Objects::none;
  }

 private:
  using Entries = std::vector<std::pair<Bytes, Index>>;
  Index remove(Entries::iterator it) {
    const Index object = it->second;
    free_.erase(it);
    return object;
  }
  Entries free_;
};

}  // namespace

// The mended defects: only free objects are candidates for growing (the report looks at all); an output never takes an
// input's object while the input is still read (lifetimes end exclusively, and ends come first only at equal times);
// and a block without any other use, such as a scalar, shares like every other.
Placement owl(const Problem& p, const Effort&) {
  Objects objects(p);
  std::vector<Index> last_in_object;
  FreeObjects free;
  std::vector<Index> by_death(p.size.size());
  for (std::size_t i = 0; i < by_death.size(); ++i) by_death[i] = static_cast<Index>(i);
  std::stable_sort(by_death.begin(), by_death.end(), [&](Index a, Index b) {
    return p.death[static_cast<std::size_t>(a)] < p.death[static_cast<std::size_t>(b)];
  });
  std::size_t dead = 0;
  for (const Index i : arrange(p, Order::birth)) {
    const auto at = static_cast<std::size_t>(i);
    if (p.fixed[at] != not_fixed) continue;
    for (; dead < by_death.size() && p.death[static_cast<std::size_t>(by_death[dead])] <= p.birth[at]; ++dead) {
      const Index object = objects.object_of(by_death[dead]);
      if (object != Objects::none) free.add(objects.size(object), object);
    }
    // Those who had the object precede each other in a chain, so the last one speaks for all.
    const Index found = free.take(
        p.padded[at], [&](Index object) { return !p.conflicts(last_in_object[static_cast<std::size_t>(object)], i); });
    const Index object = found != Objects::none ? found : objects.open();
    last_in_object.resize(static_cast<std::size_t>(objects.count()), i);
    last_in_object[static_cast<std::size_t>(object)] = i;
    objects.join(i, object);
  }
  return objects.side_by_side();
}

}  // namespace tyto::memory
