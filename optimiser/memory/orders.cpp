// SPDX-License-Identifier: MIT
// Each order is a triple of keys, all descending; one sort serves them all.
#include "optimiser/memory/orders.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tyto::memory {
namespace {

struct Keys {
  double major;
  double middle;
  double minor;
  Index block;
};

std::vector<Bytes> heaviest_crossed(const Problem& p) {
  // Sparse table over the sections: the maximum of any range by two look-ups.
  std::vector<std::vector<Bytes>> table{p.load};
  for (std::size_t span = 1; 2 * span <= p.load.size(); span *= 2) {
    const std::vector<Bytes>& half = table.back();
    std::vector<Bytes> level(p.load.size() - 2 * span + 1);
    for (std::size_t k = 0; k < level.size(); ++k) level[k] = std::max(half[k], half[k + span]);
    table.push_back(std::move(level));
  }
  std::vector<Bytes> heaviest(p.size.size());
  for (std::size_t i = 0; i < heaviest.size(); ++i) {
    heaviest[i] = std::numeric_limits<Bytes>::min();
    p.for_each_run(i, [&](Index begin, Index end) {
      const auto first = static_cast<std::size_t>(begin);
      const auto length = static_cast<std::size_t>(end) - first;
      std::size_t level = 0;
      while ((std::size_t{2} << level) <= length) ++level;
      heaviest[i] =
          std::max({heaviest[i], table[level][first], table[level][first + length - (std::size_t{1} << level)]});
    });
  }
  return heaviest;
}

// Ranks of sections by descending load; a block has the rank of the first such section that it crosses, which is
// the heaviest of its own. Ties of loads are broken by time.
std::vector<double> breadth_ranks(const Problem& p) {
  std::vector<Index> by_load(p.load.size());
  std::iota(by_load.begin(), by_load.end(), 0);
  std::stable_sort(by_load.begin(), by_load.end(), [&](Index a, Index b) {
    return p.load[static_cast<std::size_t>(a)] > p.load[static_cast<std::size_t>(b)];
  });
  Problem ranked;
  ranked.first = p.first;
  ranked.last = p.last;
  ranked.lifetime_begin = p.lifetime_begin;
  ranked.runs = p.runs;
  ranked.size = p.size;
  ranked.load.resize(p.load.size());
  for (std::size_t rank = 0; rank < by_load.size(); ++rank) {
    ranked.load[static_cast<std::size_t>(by_load[rank])] = -static_cast<Bytes>(rank);
  }
  const std::vector<Bytes> best = heaviest_crossed(ranked);
  return {best.begin(), best.end()};
}

}  // namespace

std::string_view name(Order order) {
  switch (order) {
    case Order::size: return "size";
    case Order::area: return "area";
    case Order::birth: return "birth";
    case Order::death: return "death";
    case Order::breadth: return "breadth";
    case Order::load_area: return "load, area";
    case Order::lifetime_area: return "lifetime, area";
    case Order::area_lifetime: return "area, lifetime";
  }
  return "unknown";
}

std::vector<Index> arrange(const Problem& p, Order order) {
  const auto n = p.size.size();
  std::vector<Keys> keys(n);
  std::vector<double> load;
  std::vector<double> breadth;
  if (order == Order::load_area || order == Order::lifetime_area || order == Order::area_lifetime) {
    const std::vector<Bytes> heaviest = heaviest_crossed(p);
    load.assign(heaviest.begin(), heaviest.end());
  }
  if (order == Order::breadth) breadth = breadth_ranks(p);
  for (std::size_t i = 0; i < n; ++i) {
    const double size = static_cast<double>(p.size[i]);
    const double birth = static_cast<double>(p.birth[i]);
    const double death = static_cast<double>(p.death[i]);
    const double lifetime = p.lifetime(i);
    const double area = size * lifetime;
    switch (order) {
      case Order::size: keys[i] = {size, lifetime, 0, 0}; break;
      case Order::area: keys[i] = {area, size, lifetime, 0}; break;
      case Order::birth: keys[i] = {-birth, size, lifetime, 0}; break;
      case Order::death: keys[i] = {death, size, lifetime, 0}; break;
      case Order::breadth: keys[i] = {breadth[i], size, lifetime, 0}; break;
      case Order::load_area: keys[i] = {load[i], area, lifetime, 0}; break;
      case Order::lifetime_area: keys[i] = {lifetime, area, load[i], 0}; break;
      case Order::area_lifetime: keys[i] = {area, lifetime, load[i], 0}; break;
    }
    keys[i].block = static_cast<Index>(i);
  }
  std::sort(keys.begin(), keys.end(), [&](const Keys& a, const Keys& b) {
    if (a.major != b.major) return a.major > b.major;
    if (a.middle != b.middle) return a.middle > b.middle;
    if (a.minor != b.minor) return a.minor > b.minor;
    const auto i = static_cast<std::size_t>(a.block);
    const auto j = static_cast<std::size_t>(b.block);
    if (p.birth[i] != p.birth[j]) return p.birth[i] < p.birth[j];
    return a.block < b.block;
  });
  std::vector<Index> arranged(n);
  for (std::size_t i = 0; i < n; ++i) arranged[i] = keys[i].block;
  return arranged;
}

}  // namespace tyto::memory
