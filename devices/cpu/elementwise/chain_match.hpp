// Finds the chains of a tile program that have a loop.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "devices/cpu/elementwise/chain_loops.hpp"
#include "devices/cpu/tile_program.hpp"

namespace tyto::cpu {

/// A chain laid over a program.
struct ChainMatch {
  static constexpr int unbound = -1;

  const ChainLoop* chain = nullptr;                     ///< null where none fits
  std::array<int, ChainLoop::most_leaves> leaves{};     ///< registers, or unbound
  std::array<std::size_t, ChainLoop::most_steps> at{};  ///< the instruction that each step is
};

class ChainMatcher {
 public:
  /// `numbers` says which registers hold one element repeated.
  ChainMatcher(const TileProgram& program, const std::vector<bool>& numbers);

  /// The longest of the chains that ends in the instruction and of whose values nothing else is read but its further
  /// results, which are outputs; of equally long ones that which reads most numbers.
  ChainMatch longest(std::span<const ChainLoop> chains, std::size_t last) const;

 private:
  /// A part of the tree that a register is to be.
  struct Goal {
    int part;
    TileProgram::Register value;
  };
  class Goals;

  bool fits(ChainMatch& match, Goals goals) const;
  bool stays_inside(const ChainLoop& chain, Goal goal) const;
  bool binds(ChainMatch& match, Goal leaf) const;

  const TileProgram& program_;
  const std::vector<bool>& numbers_;
  std::vector<std::size_t> made_by_;  // by register
  std::vector<std::uint32_t> readers_;
};

}  // namespace tyto::cpu
