// SPDX-License-Identifier: MIT
// shared_objects: whole objects after Pisarchyk and Lee, with blocks by size, by breadth, and by distance in time.
#include <algorithm>
#include <limits>

#include "optimiser/memory/published/objects.hpp"
#include "optimiser/memory/strategies.hpp"

namespace tyto::memory {
namespace {

// Each block takes the smallest object that is large enough and free during its lifetime, else the largest free one.
Placement assign_in_order(const Problem& p, const std::vector<Index>& order) {
  Objects objects(p);
  std::vector<Index> seen;  // by object: the block that last found it taken
  for (const Index i : order) {
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

// The k-th positional maximum is the largest k-th entry of all sections' sizes in descending order.
std::vector<Bytes> positional_maxima(const Problem& p) {
  std::vector<std::vector<Bytes>> alive(static_cast<std::size_t>(p.sections));
  std::vector<Bytes> maxima;
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    for (Index k = p.first[i]; k < p.last[i]; ++k) alive[static_cast<std::size_t>(k)].push_back(p.padded[i]);
  }
  for (std::vector<Bytes>& sizes : alive) {
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    maxima.resize(std::max(maxima.size(), sizes.size()), 0);
    for (std::size_t k = 0; k < sizes.size(); ++k) maxima[k] = std::max(maxima[k], sizes[k]);
  }
  return maxima;
}

}  // namespace

Placement shared_objects(const Problem& p, const Effort&) { return assign_in_order(p, arrange(p, Order::size)); }

Placement shared_objects_by_breadth(const Problem& p, const Effort&) {
  return assign_in_order(p, arrange(p, Order::breadth));
}

// Classes of blocks between consecutive positional maxima, largest class first; inside a class always the block whose
// lifetime lies closest to the lifetimes already in some object that it can join.
Placement shared_objects_by_distance(const Problem& p, const Effort&) {
  const std::vector<Bytes> maxima = positional_maxima(p);
  const std::vector<Index> by_size = arrange(p, Order::size);
  Objects objects(p);
  std::vector<std::vector<Index>> held;  // blocks of each object
  std::size_t next = 0;
  std::size_t level = 0;
  while (next < by_size.size()) {
    while (level + 1 < maxima.size() && maxima[level + 1] >= p.padded[static_cast<std::size_t>(by_size[next])]) ++level;
    const Bytes above = level + 1 < maxima.size() ? maxima[level + 1] : 0;
    std::size_t end = next;
    while (end < by_size.size() && p.padded[static_cast<std::size_t>(by_size[end])] > above) ++end;
    std::vector<Index> todo;
    for (; next < end; ++next) {
      if (p.fixed[static_cast<std::size_t>(by_size[next])] == not_fixed) todo.push_back(by_size[next]);
    }
    // gap[b * objects + o]: idle time between block b and the nearest lifetime in object o, or -1 when they meet.
    const auto gap_to = [&](Index i, Index j) -> double {
      if (p.conflicts(i, j)) return -1;
      const auto a = static_cast<std::size_t>(i);
      const auto b = static_cast<std::size_t>(j);
      return p.death[a] <= p.birth[b] ? static_cast<double>(p.birth[b]) - static_cast<double>(p.death[a])
                                      : static_cast<double>(p.birth[a]) - static_cast<double>(p.death[b]);
    };
    struct Choice {
      double gap;
      Index object;
    };
    const auto closest = [&](Index i) {
      Choice choice{std::numeric_limits<double>::infinity(), Objects::none};
      for (std::size_t o = 0; o < held.size(); ++o) {
        double nearest = std::numeric_limits<double>::infinity();
        for (const Index j : held[o]) {
          const double gap = gap_to(i, j);
          nearest = gap < 0 ? -1 : std::min(nearest, gap);
          if (nearest < 0) break;
        }
        if (nearest >= 0 && nearest < choice.gap) choice = {nearest, static_cast<Index>(o)};
      }
      return choice;
    };
    std::vector<Choice> choices;
    for (const Index i : todo) choices.push_back(closest(i));
    while (!todo.empty()) {
      std::size_t pick = 0;
      for (std::size_t k = 1; k < todo.size(); ++k) {
        if (choices[k].gap < choices[pick].gap) pick = k;
      }
      const Index i = todo[pick];
      Index object = choices[pick].object;
      if (object == Objects::none) {
        object = objects.open();
        held.emplace_back();
      }
      objects.join(i, object);
      held[static_cast<std::size_t>(object)].push_back(i);
      todo.erase(todo.begin() + static_cast<std::ptrdiff_t>(pick));
      choices.erase(choices.begin() + static_cast<std::ptrdiff_t>(pick));
      for (std::size_t k = 0; k < todo.size(); ++k) {
        const double gap = gap_to(todo[k], i);
        if (gap < 0 ? choices[k].object == object : gap < choices[k].gap) choices[k] = closest(todo[k]);
      }
    }
  }
  return objects.side_by_side();
}

}  // namespace tyto::memory
