// SPDX-License-Identifier: MIT
// Shared by the tests of planners: an optimum by brute force, random blocks, and the instances on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <tyto/memory.hpp>

namespace tyto::memory_tests {

/// The lowest possible height, by trying every order in which the blocks can be stacked. For at most 8 blocks.
std::int64_t lowest_height(const std::vector<Block>& blocks, const PlanOptions& options = {});

struct RandomBlocks {
  int most_blocks = 30;
  int steps = 12;
  std::int64_t largest = 40;
  bool alignments = false;
  bool fixed = false;
  bool empty = false;  // some without size or lifetime
};

std::vector<Block> random_blocks(std::mt19937_64& random, const RandomBlocks& how);

/// Whether a block is alive at a step, by its spans where it has any.
bool alive_at(const Block& block, std::int64_t step);

/// Gives most blocks a lifetime with holes, in one or several spans, some of which touch. The spans are those returned.
std::vector<std::vector<Span>> make_holes(std::mt19937_64& random, std::vector<Block>& blocks);

/// A precedence that relates about half of the pairs which do not meet in time, closed under transitivity.
Precedence random_precedence(std::mt19937_64& random, const std::vector<Block>& blocks);

/// One of the MiniMalloc instances below $TYTO_DATA/dsa/minimalloc, or nothing when the data is not there.
std::optional<std::vector<Block>> minimalloc_instance(const std::string& letter);

/// Blocks in shorthand: {lower, upper, size}, numbered from 0.
struct Shorthand {
  std::int64_t lower;
  std::int64_t upper;
  std::int64_t size;
};
std::vector<Block> blocks_of(std::initializer_list<Shorthand> rows);

}  // namespace tyto::memory_tests
