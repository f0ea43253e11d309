// SPDX-License-Identifier: MIT
// Chains of carries: values of a loop that move from one carry to the next without being changed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/attributes.hpp"
#include "core/graph/graph.hpp"

namespace tyto::optimiser {

/// Carries p1, p2, ... pk of which each becomes the next one's value: p2 takes p1's, p3 takes p2's. In iteration t the
/// value of the i-th carry is what came to be t - i iterations before, or an initial value.
struct CarryChain {
  std::vector<std::uint32_t> members;  // carries by number, p1 first
  /// Whether p1's next value is the last member's: then values rotate and nothing is written; otherwise it is computed.
  bool cyclic = false;
  /// p1's next value is also this stacked result (a row that stays as it is), and needs no other memory.
  std::optional<std::uint32_t> stack;
  /// p1 itself is this stacked result: each iteration's next value goes to the row after.
  std::optional<std::uint32_t> history;
};

/// Whether the carry neither takes another one's value nor hands its own on.
bool is_chain_of_its_own(const core::IterationAttributes& loop, std::uint32_t carry);

/// The chains of a loop's body. Each carry is a member of one.
std::vector<CarryChain> carry_chains(const core::IterationAttributes& loop);

}  // namespace tyto::optimiser
