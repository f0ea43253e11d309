// SPDX-License-Identifier: MIT
// Converts the caller's blocks to a Problem: validation, compression of times, units, neighbours, bound.
#include "optimiser/memory/problem.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/value/text.hpp"
#include "optimiser/memory/bound.hpp"

namespace tyto::memory {
namespace {

std::string name_of(const Block& block) {
  std::string name = "block " + std::to_string(block.id);
  if (!block.label.empty()) name += " (" + std::string(block.label) + ")";
  return name;
}

template <class... Parts>
[[noreturn]] void refuse(const Block& block, const Parts&... parts) {
  core::throw_error<ValueError>("plan_memory: ", name_of(block), " ", parts...);
}

Bytes common_alignment(const Block& block, Bytes asked) {
  const Bytes factor = asked / std::gcd(block.alignment, asked);
  if (factor > max_total_bytes / block.alignment) {
    refuse(block, "has alignment ", block.alignment, ", which together with the alignment ", asked,
           " of the plan overflows 2^61");
  }
  return block.alignment * factor;
}

void validate(const Block& block) {
  if (block.size < 0) refuse(block, "has size ", block.size, "; sizes are not negative");
  if (block.upper < block.lower) {
    refuse(block, "lives from ", block.lower, " to ", block.upper, "; upper (exclusive) is at least lower");
  }
  if (block.alignment < 1) {
    refuse(block, "has alignment ", block.alignment, "; alignments are at least 1");
  }
  if (!block.spans.empty()) {
    const auto text = [](const Span& span) {
      return "[" + std::to_string(span.lower) + ", " + std::to_string(span.upper) + ")";
    };
    for (std::size_t k = 0; k < block.spans.size(); ++k) {
      const Span& span = block.spans[k];
      if (span.upper <= span.lower) refuse(block, "has the empty span ", text(span), "; spans hold a step at least");
      if (k > 0 && span.lower < block.spans[k - 1].upper) {
        refuse(block, "has the span ", text(span), " after ", text(block.spans[k - 1]),
               "; spans are ascending and disjoint");
      }
    }
    if (block.spans.front().lower != block.lower || block.spans.back().upper != block.upper) {
      refuse(block, "lives from ", block.lower, " to ", block.upper, ", but its spans from ", block.spans.front().lower,
             " to ", block.spans.back().upper, "; both are the same");
    }
  }
  if (block.fixed_offset && *block.fixed_offset < 0) {
    refuse(block, "is fixed at offset ", *block.fixed_offset, "; offsets are not negative");
  }
}

// Ends come before starts at equal times. A new section opens at the first start after an end: then the set alive is
// maximal once more, and no set between two such points is.
template <typename Lower, typename Upper, typename Cover>
Index cut_into_sections(std::size_t n, Lower&& lower, Upper&& upper, Cover&& cover) {
  std::vector<Index> first(n, 0);
  std::vector<Index> by_birth(n);
  std::iota(by_birth.begin(), by_birth.end(), 0);
  std::vector<Index> by_death = by_birth;
  const auto at = [](Index i) { return static_cast<std::size_t>(i); };
  std::sort(by_birth.begin(), by_birth.end(),
            [&](Index a, Index b) { return lower(at(a)) != lower(at(b)) ? lower(at(a)) < lower(at(b)) : a < b; });
  std::sort(by_death.begin(), by_death.end(),
            [&](Index a, Index b) { return upper(at(a)) != upper(at(b)) ? upper(at(a)) < upper(at(b)) : a < b; });
  Index section = 0;
  bool ended = false;
  std::size_t dead = 0;
  for (const Index i : by_birth) {
    for (; dead < n && upper(at(by_death[dead])) <= lower(at(i)); ++dead) {
      cover(at(by_death[dead]), first[at(by_death[dead])], section + 1);
      ended = true;
    }
    if (ended) {
      ++section;
      ended = false;
    }
    first[at(i)] = section;
  }
  for (; dead < n; ++dead) cover(at(by_death[dead]), first[at(by_death[dead])], section + 1);
  return n == 0 ? 0 : section + 1;
}

void make_sections(Problem& p) {
  const auto n = p.size.size();
  p.first.assign(n, 0);
  p.last.assign(n, 0);
  if (!p.has_holes()) {
    p.sections = cut_into_sections(
        n, [&](std::size_t i) { return p.birth[i]; }, [&](std::size_t i) { return p.death[i]; },
        [&](std::size_t i, Index first, Index last) {
          p.first[i] = first;
          p.last[i] = last;
        });
    return;
  }
  p.runs.resize(p.lifetimes.size());
  p.sections = cut_into_sections(
      p.lifetimes.size(), [&](std::size_t k) { return p.lifetimes[k].lower; },
      [&](std::size_t k) { return p.lifetimes[k].upper; },
      [&](std::size_t k, Index first, Index last) {
        p.runs[k] = {first, last};
      });
  for (std::size_t i = 0; i < n; ++i) {
    p.first[i] = p.runs[p.lifetime_begin[i]].first;
    p.last[i] = p.runs[p.lifetime_begin[i + 1] - 1].last;
  }
}

void measure_load(Problem& p) {
  p.load.assign(static_cast<std::size_t>(p.sections) + 1, 0);
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    p.for_each_run(i, [&](Index first, Index last) {
      p.load[static_cast<std::size_t>(first)] += p.padded[i];
      p.load[static_cast<std::size_t>(last)] -= p.padded[i];
    });
  }
  for (std::size_t k = 1; k < p.load.size(); ++k) p.load[k] += p.load[k - 1];
  p.load.pop_back();
}

void count_pairs(Problem& p) {
  std::vector<Index> births(static_cast<std::size_t>(p.sections), 0);
  std::vector<Index> deaths(static_cast<std::size_t>(p.sections) + 1, 0);
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    p.for_each_run(i, [&](Index first, Index last) {
      ++births[static_cast<std::size_t>(first)];
      ++deaths[static_cast<std::size_t>(last)];
    });
  }
  std::int64_t live = 0;
  for (std::size_t k = 0; k < births.size(); ++k) {
    live -= deaths[k];
    const std::int64_t born = births[k];
    p.pairs += live * born + born * (born - 1) / 2;
    live += born;
  }
}

void list_neighbours_by_time(Problem& p) {
  const auto n = p.size.size();
  p.listed = true;
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return p.first[static_cast<std::size_t>(a)] < p.first[static_cast<std::size_t>(b)];
  });
  std::vector<std::int64_t> degree(n + 1, 0);
  const auto sweep = [&](auto&& meet) {
    std::vector<Index> alive;
    for (const Index i : order) {
      std::size_t kept = 0;
      for (const Index j : alive) {
        if (p.last[static_cast<std::size_t>(j)] <= p.first[static_cast<std::size_t>(i)]) continue;
        alive[kept++] = j;
        meet(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
      }
      alive.resize(kept);
      alive.push_back(i);
    }
  };
  sweep([&](std::size_t i, std::size_t j) {
    ++degree[i + 1];
    ++degree[j + 1];
  });
  std::partial_sum(degree.begin(), degree.end(), degree.begin());
  p.neighbour_begin = degree;
  p.neighbour.resize(static_cast<std::size_t>(degree[n]));
  sweep([&](std::size_t i, std::size_t j) {
    p.neighbour[static_cast<std::size_t>(degree[i]++)] = static_cast<Index>(j);
    p.neighbour[static_cast<std::size_t>(degree[j]++)] = static_cast<Index>(i);
  });
  for (std::size_t i = 0; i < n; ++i) {
    std::sort(p.neighbour.begin() + p.neighbour_begin[i], p.neighbour.begin() + p.neighbour_begin[i + 1]);
  }
}

// Blocks with holes may meet several times.
void list_neighbours_of_runs(Problem& p) {
  const auto n = p.size.size();
  p.listed = true;
  std::vector<std::size_t> owner(p.runs.size());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = p.lifetime_begin[i]; k < p.lifetime_begin[i + 1]; ++k) owner[k] = i;
  }
  std::vector<std::size_t> order(p.runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p.runs[a].first < p.runs[b].first; });
  std::vector<std::vector<Index>> met(n);
  std::vector<std::size_t> alive;
  for (const std::size_t run : order) {
    std::erase_if(alive, [&](std::size_t other) { return p.runs[other].last <= p.runs[run].first; });
    for (const std::size_t other : alive) {
      met[owner[run]].push_back(static_cast<Index>(owner[other]));
      met[owner[other]].push_back(static_cast<Index>(owner[run]));
    }
    alive.push_back(run);
  }
  p.neighbour_begin.assign(1, 0);
  for (std::vector<Index>& list : met) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    p.neighbour.insert(p.neighbour.end(), list.begin(), list.end());
    p.neighbour_begin.push_back(static_cast<std::int64_t>(p.neighbour.size()));
  }
}

void list_neighbours_by_precedence(Problem& p) {
  const Index n = p.count();
  p.listed = true;
  p.neighbour_begin.assign(1, 0);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      if (i != j && p.conflicts(i, j)) p.neighbour.push_back(j);
    }
    p.neighbour_begin.push_back(static_cast<std::int64_t>(p.neighbour.size()));
  }
}

void check_precedence(const Problem& p, std::span<const Block> blocks) {
  if (p.precedence->blocks() != blocks.size()) {
    core::throw_error<ValueError>("plan_memory: the precedence is about ", p.precedence->blocks(),
                                  " blocks, but there are ", blocks.size());
  }
  for (Index i = 0; i < p.count(); ++i) {
    for (Index j = 0; j < p.count(); ++j) {
      const auto a = static_cast<std::size_t>(p.input[static_cast<std::size_t>(i)]);
      const auto b = static_cast<std::size_t>(p.input[static_cast<std::size_t>(j)]);
      if (p.precedence->precedes(a, b) && blocks[a].upper > blocks[b].lower) {
        refuse(blocks[a], "precedes ", name_of(blocks[b]), ", but is alive until ", blocks[a].upper,
               ", after that one begins at ", blocks[b].lower,
               "; the steps of the blocks are not one order of the precedence");
      }
    }
  }
}

void check_fixed(const Problem& p, std::span<const Block> blocks) {
  std::vector<Index> fixed;
  for (Index i = 0; i < p.count(); ++i) {
    if (p.fixed[static_cast<std::size_t>(i)] != not_fixed) fixed.push_back(i);
  }
  // By address: a collision with any earlier one shows while the reach of the earlier ones is kept.
  std::sort(fixed.begin(), fixed.end(), [&](Index a, Index b) {
    return p.fixed[static_cast<std::size_t>(a)] < p.fixed[static_cast<std::size_t>(b)];
  });
  for (std::size_t a = 0; a < fixed.size(); ++a) {
    const auto i = static_cast<std::size_t>(fixed[a]);
    for (std::size_t b = a + 1; b < fixed.size(); ++b) {
      const auto j = static_cast<std::size_t>(fixed[b]);
      if (p.fixed[j] >= p.fixed[i] + p.size[i]) break;
      if (p.conflicts(fixed[a], fixed[b])) {
        refuse(blocks[static_cast<std::size_t>(p.input[i])], "is fixed where ",
               name_of(blocks[static_cast<std::size_t>(p.input[j])]),
               " is fixed as well, and both are alive at one time");
      }
    }
  }
}

// Strategies that reuse whole objects align each for all of its blocks, so that even all common multiples together must
// stay below the limit.
void check_alignments(const Problem& p, std::span<const Block> blocks) {
  Bytes common = 1;
  const Bytes limit = max_total_bytes / std::max<Bytes>(1, p.count());
  for (std::size_t i = 0; i < p.alignment.size(); ++i) {
    const Bytes factor = p.alignment[i] / std::gcd(common, p.alignment[i]);
    if (factor > limit / common) {
      refuse(blocks[static_cast<std::size_t>(p.input[i])], "has alignment ", p.alignment[i],
             ", whose common multiple with the others overflows 2^61");
    }
    common *= factor;
  }
}

// When every alignment divides every size and fixed offset, all sums of sizes are aligned and alignment is no matter.
void choose_units(Problem& p) {
  Bytes sizes = 0;
  Bytes alignments = 0;
  bool implied = true;
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    sizes = std::gcd(sizes, p.size[i]);
    if (p.fixed[i] != not_fixed) sizes = std::gcd(sizes, p.fixed[i]);
    alignments = std::gcd(alignments, p.alignment[i]);
  }
  if (p.size.empty()) return;
  for (const Bytes alignment : p.alignment) implied = implied && sizes % alignment == 0;
  p.unit = implied ? sizes : std::gcd(sizes, alignments);
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    p.size[i] /= p.unit;
    if (p.fixed[i] != not_fixed) p.fixed[i] /= p.unit;
    p.alignment[i] = implied ? 1 : p.alignment[i] / p.unit;
    p.aligned = p.aligned || p.alignment[i] > 1;
  }
  p.grain = implied ? 1 : alignments / p.unit;
  p.even = std::all_of(p.alignment.begin(), p.alignment.end(), [&](Bytes each) { return each == p.grain; });
}

// Lifetimes of the blocks of `p`, given one after another as lists of spans; spans that touch are one. Nothing is kept
// when no lifetime has a hole, so that those problems are what they would be without spans.
template <typename SpansOf>
void keep_lifetimes(Problem& p, SpansOf&& spans_of) {
  std::vector<std::size_t> begin{0};
  std::vector<Span> lifetimes;
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    for (const Span& span : spans_of(i)) {
      if (lifetimes.size() > begin.back() && lifetimes.back().upper == span.lower) {
        lifetimes.back().upper = span.upper;
      } else {
        lifetimes.push_back(span);
      }
    }
    if (lifetimes.size() == begin.back()) lifetimes.push_back({p.birth[i], p.death[i]});
    begin.push_back(lifetimes.size());
  }
  if (lifetimes.size() == p.size.size()) return;
  p.lifetime_begin = std::move(begin);
  p.lifetimes = std::move(lifetimes);
}

void finish(Problem& p) {
  p.padded.resize(p.size.size());
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    p.padded[i] = round_up(p.size[i], p.grain);
    p.slack = std::max(p.slack, p.padded[i] - p.size[i]);
    p.any_fixed = p.any_fixed || p.fixed[i] != not_fixed;
  }
  make_sections(p);
  measure_load(p);
  count_pairs(p);
  if (p.precedence != nullptr) list_neighbours_by_precedence(p);
  p.bound = lower_bound(p);
}

}  // namespace

bool Problem::runs_meet(std::size_t a, std::size_t b) const {
  std::size_t i = lifetime_begin[a];
  std::size_t j = lifetime_begin[b];
  while (i < lifetime_begin[a + 1] && j < lifetime_begin[b + 1]) {
    if (runs[i].last <= runs[j].first) {
      ++i;
    } else if (runs[j].last <= runs[i].first) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

Bytes Problem::fixed_top() const {
  Bytes top = 0;
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (fixed[i] != not_fixed) top = std::max(top, fixed[i] + size[i]);
  }
  return top;
}

Problem make_problem(std::span<const Block> blocks, const PlanOptions& options) {
  if (options.alignment < 1) {
    core::throw_error<ValueError>("plan_memory: alignment is ", options.alignment, "; it is at least 1");
  }
  if (blocks.size() > static_cast<std::size_t>(std::numeric_limits<Index>::max()) / 4) {
    core::throw_error<ValueError>("plan_memory: ", blocks.size(), " blocks are more than can be planned");
  }
  Problem p;
  p.precedence = options.precedence;
  Bytes total = 0;
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    const Block& block = blocks[at];
    validate(block);
    const Bytes alignment = common_alignment(block, options.alignment);
    const Bytes fixed = block.fixed_offset.value_or(0);
    // Wherever a block comes to lie, it reaches no higher than all blocks piled up with all their padding.
    if (block.size > max_total_bytes || fixed > max_total_bytes ||
        block.size + (alignment - 1) + fixed > max_total_bytes - total) {
      refuse(block, "of ", block.size, " bytes brings the sum of all sizes above 2^61: overflow");
    }
    total += block.size + (alignment - 1) + fixed;
    if (fixed % alignment != 0) {
      refuse(block, "is fixed at offset ", fixed, ", which is no multiple of its alignment ", alignment);
    }
    if (block.size == 0 || block.lower == block.upper) continue;
    p.input.push_back(static_cast<Index>(at));
    p.size.push_back(block.size);
    p.alignment.push_back(alignment);
    p.fixed.push_back(block.fixed_offset.value_or(not_fixed));
    p.birth.push_back(block.lower);
    p.death.push_back(block.upper);
  }
  const bool any_spans = std::any_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.spans.size() > 1; });
  if (any_spans) {
    std::size_t spans = 0;
    for (const Block& block : blocks) spans += std::max<std::size_t>(block.spans.size(), 1);
    if (spans > static_cast<std::size_t>(std::numeric_limits<Index>::max()) / 4) {
      core::throw_error<ValueError>("plan_memory: ", spans, " spans are more than can be planned");
    }
    keep_lifetimes(p, [&](std::size_t i) { return blocks[static_cast<std::size_t>(p.input[i])].spans; });
  }
  check_alignments(p, blocks);
  choose_units(p);
  if (p.precedence != nullptr) check_precedence(p, blocks);
  finish(p);
  if (p.any_fixed) check_fixed(p, blocks);
  return p;
}

Problem with_neighbours(Problem problem, std::int64_t most_pairs) {
  if (problem.listed || problem.pairs > most_pairs) return problem;
  if (problem.has_holes()) {
    list_neighbours_of_runs(problem);
  } else {
    list_neighbours_by_time(problem);
  }
  return problem;
}

Problem sub_problem(const Problem& whole, std::span<const Index> members) {
  Problem p;
  p.unit = whole.unit;
  p.grain = whole.grain;
  p.aligned = whole.aligned;
  p.even = whole.even;
  p.precedence = whole.precedence;
  for (const Index member : members) {
    const auto at = static_cast<std::size_t>(member);
    p.input.push_back(whole.input[at]);
    p.size.push_back(whole.size[at]);
    p.alignment.push_back(whole.alignment[at]);
    p.fixed.push_back(whole.fixed[at]);
    p.birth.push_back(whole.birth[at]);
    p.death.push_back(whole.death[at]);
  }
  if (whole.has_holes()) {
    keep_lifetimes(p, [&](std::size_t i) {
      const auto at = static_cast<std::size_t>(members[i]);
      return std::span<const Span>(whole.lifetimes.data() + whole.lifetime_begin[at],
                                   whole.lifetime_begin[at + 1] - whole.lifetime_begin[at]);
    });
  }
  finish(p);
  return whole.listed ? with_neighbours(std::move(p)) : p;
}

Problem hull_of(Problem p) {
  if (!p.has_holes()) return p;
  const Bytes bound = p.bound;
  p.lifetime_begin.clear();
  p.lifetimes.clear();
  p.runs.clear();
  p.listed = false;
  p.neighbour_begin.clear();
  p.neighbour.clear();
  p.pairs = 0;
  finish(p);
  p.bound = bound;
  return p;
}

std::vector<std::vector<Index>> independent_parts(const Problem& p) {
  const Index n = p.count();
  if (n == 0) return {};
  if (p.precedence != nullptr) {
    std::vector<Index> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    return {all};
  }
  // A border between sections that no block crosses separates two parts.
  std::vector<Index> reach(static_cast<std::size_t>(p.sections), 0);
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    Index& far = reach[static_cast<std::size_t>(p.first[i])];
    far = std::max(far, p.last[i]);
  }
  std::vector<Index> part_of(static_cast<std::size_t>(p.sections), 0);
  std::vector<Bytes> heaviest;
  Index end = 0;
  for (Index k = 0; k < p.sections; ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (k == end) heaviest.push_back(0);
    end = std::max(end, reach[at]);
    part_of[at] = static_cast<Index>(heaviest.size()) - 1;
    heaviest.back() = std::max(heaviest.back(), p.load[at]);
  }
  std::vector<std::vector<Index>> parts(heaviest.size());
  for (Index i = 0; i < n; ++i) {
    parts[static_cast<std::size_t>(part_of[static_cast<std::size_t>(p.first[static_cast<std::size_t>(i)])])].push_back(
        i);
  }
  std::vector<Index> order(parts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return heaviest[static_cast<std::size_t>(a)] > heaviest[static_cast<std::size_t>(b)];
  });
  std::vector<std::vector<Index>> sorted;
  sorted.reserve(parts.size());
  for (const Index part : order) sorted.push_back(std::move(parts[static_cast<std::size_t>(part)]));
  return sorted;
}

}  // namespace tyto::memory
