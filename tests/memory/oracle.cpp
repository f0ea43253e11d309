// SPDX-License-Identifier: MIT
// Brute-force planning, written for being right, not for speed: it shares nothing with the planners.
#include "tests/memory/oracle.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>

namespace tyto::memory_tests {
namespace {

bool takes_room(const Block& block) { return block.size > 0 && block.upper > block.lower; }

bool collide(const std::vector<Block>& blocks, std::size_t a, std::size_t b, const PlanOptions& options) {
  if (!takes_room(blocks[a]) || !takes_room(blocks[b])) return false;
  if (options.precedence != nullptr) return options.precedence->conflict(a, b);
  for (std::int64_t step = std::max(blocks[a].lower, blocks[b].lower);
       step < std::min(blocks[a].upper, blocks[b].upper); ++step) {
    if (alive_at(blocks[a], step) && alive_at(blocks[b], step)) return true;
  }
  return false;
}

int between(std::mt19937_64& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
}

struct Search {
  const std::vector<Block>& blocks;
  const PlanOptions& options;
  std::vector<std::int64_t> offset;
  std::int64_t best = std::numeric_limits<std::int64_t>::max();

  // The lowest address from `at` on that is aligned and where block i meets no placed block.
  std::int64_t lowest_place(std::size_t i) const {
    for (std::int64_t at = 0;;) {
      const bool aligned = at % blocks[i].alignment == 0 && at % options.alignment == 0;
      std::int64_t next = at + 1;
      bool free = aligned;
      for (std::size_t j = 0; j < blocks.size(); ++j) {
        if (j == i || offset[j] < 0 || !collide(blocks, i, j, options)) continue;
        if (at < offset[j] + blocks[j].size && offset[j] < at + blocks[i].size) {
          free = false;
          next = std::max(next, offset[j] + blocks[j].size);
        }
      }
      if (free) return at;
      at = next;
    }
  }

  void go(std::int64_t height, std::size_t placed) {
    if (height >= best) return;
    if (placed == blocks.size()) {
      best = height;
      return;
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (offset[i] >= 0) continue;
      offset[i] = lowest_place(i);
      go(std::max(height, offset[i] + blocks[i].size), placed + 1);
      offset[i] = -1;
    }
  }
};

}  // namespace

bool alive_at(const Block& block, std::int64_t step) {
  if (block.spans.empty()) return block.lower <= step && step < block.upper;
  return std::any_of(block.spans.begin(), block.spans.end(),
                     [&](const Span& span) { return span.lower <= step && step < span.upper; });
}

std::vector<std::vector<Span>> make_holes(std::mt19937_64& random, std::vector<Block>& blocks) {
  std::vector<std::vector<Span>> lifetimes(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Block& block = blocks[i];
    if (block.upper <= block.lower || between(random, 0, 3) == 0) continue;
    // The first and the last step are alive; of the others about half are.
    std::vector<Span>& lifetime = lifetimes[i];
    for (std::int64_t step = block.lower; step < block.upper; ++step) {
      const bool end = step == block.lower || step + 1 == block.upper;
      if (!end && between(random, 0, 1) == 0) continue;
      if (!lifetime.empty() && lifetime.back().upper == step && between(random, 0, 3) != 0) {
        lifetime.back().upper = step + 1;
      } else {
        lifetime.push_back({step, step + 1});
      }
    }
    block.spans = lifetime;
  }
  return lifetimes;
}

std::int64_t lowest_height(const std::vector<Block>& blocks, const PlanOptions& options) {
  Search search{blocks, options, std::vector<std::int64_t>(blocks.size(), -1)};
  std::int64_t height = 0;
  std::size_t placed = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (takes_room(blocks[i]) && !blocks[i].fixed_offset) continue;
    search.offset[i] = blocks[i].fixed_offset.value_or(0);
    if (takes_room(blocks[i])) height = std::max(height, search.offset[i] + blocks[i].size);
    ++placed;
  }
  search.go(height, placed);
  return search.best;
}

std::vector<Block> random_blocks(std::mt19937_64& random, const RandomBlocks& how) {
  const int count = between(random, 1, how.most_blocks);
  const int longest = between(random, 1, how.steps);
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) {
    Block block;
    block.id = i;
    block.lower = between(random, 0, how.steps - 1);
    block.upper = std::min(how.steps, static_cast<int>(block.lower) + between(random, 1, longest));
    block.size = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(how.largest));
    if (how.alignments && between(random, 0, 1) == 0) block.alignment = std::int64_t{1} << between(random, 0, 4);
    if (how.empty && between(random, 0, 9) == 0) block.size = 0;
    if (how.empty && between(random, 0, 9) == 0) block.upper = block.lower;
    if (how.fixed && between(random, 0, 9) == 0) {
      const std::int64_t at = block.alignment * between(random, 0, 8);
      const bool free = std::none_of(blocks.begin(), blocks.end(), [&](const Block& other) {
        return other.fixed_offset && other.lower < block.upper && block.lower < other.upper &&
               *other.fixed_offset < at + block.size && at < *other.fixed_offset + other.size;
      });
      if (free) block.fixed_offset = at;
    }
    blocks.push_back(block);
  }
  return blocks;
}

Precedence random_precedence(std::mt19937_64& random, const std::vector<Block>& blocks) {
  const std::size_t n = blocks.size();
  std::vector<std::vector<char>> before(n, std::vector<char>(n, 0));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      before[a][b] = a != b && blocks[a].upper <= blocks[b].lower && blocks[a].lower < blocks[b].upper &&
                     between(random, 0, 1) == 0;
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) before[a][b] = before[a][b] | (before[a][k] & before[k][b]);
    }
  }
  Precedence precedence(n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      if (before[a][b] != 0) precedence.set_precedes(a, b);
    }
  }
  return precedence;
}

std::optional<std::vector<Block>> minimalloc_instance(const std::string& letter) {
  const char* data = std::getenv("TYTO_DATA");
  const std::string root = data != nullptr ? data : "../shared/data";
  std::ifstream in(root + "/dsa/minimalloc/" + letter + ".1048576.csv");
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  std::vector<Block> blocks;
  while (std::getline(in, line)) {
    long long id = 0;
    long long lower = 0;
    long long upper = 0;
    long long size = 0;
    if (std::sscanf(line.c_str(), "%lld,%lld,%lld,%lld", &id, &lower, &upper, &size) != 4) return std::nullopt;
    blocks.push_back({.id = id, .lower = lower, .upper = upper, .size = size});
  }
  return blocks;
}

std::vector<Block> blocks_of(std::initializer_list<Shorthand> rows) {
  std::vector<Block> blocks;
  for (const Shorthand& row : rows) {
    blocks.push_back(
        {.id = static_cast<std::int64_t>(blocks.size()), .lower = row.lower, .upper = row.upper, .size = row.size});
  }
  return blocks;
}

}  // namespace tyto::memory_tests
