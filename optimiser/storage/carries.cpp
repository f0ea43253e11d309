// SPDX-License-Identifier: MIT
// Follows chains from computed values to the carries that only pass them on; the rest are cycles.
#include "optimiser/storage/carries.hpp"

#include <unordered_map>

#include "core/graph/op_ids.hpp"

namespace tyto::optimiser {

using core::Port;

namespace {

constexpr std::uint32_t none = UINT32_MAX;

/// The tensor behind views that change nothing.
Port behind(const core::Graph& graph, Port port) {
  for (;;) {
    const core::GraphNode& node = graph.nodes()[graph.producer(port)];
    const bool same = node.op == core::OpId::alias || node.op == core::OpId::stop_gradient ||
                      (node.op == core::OpId::read && node.input_count != 0);
    if (!same) return port;
    port = graph.inputs_of(node)[0];
  }
}

}  // namespace

bool is_chain_of_its_own(const core::IterationAttributes& loop, std::uint32_t carry) {
  const core::Graph& body = loop.body.graph();
  const Port own = body.inputs()[carry].port, next = behind(body, body.updates()[carry].port);
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(loop.carries); ++i) {
    if (i != carry && (body.inputs()[i].port == next || behind(body, body.updates()[i].port) == own)) return false;
  }
  return true;
}

std::vector<CarryChain> carry_chains(const core::IterationAttributes& loop) {
  const core::Graph& body = loop.body.graph();
  const auto count = static_cast<std::uint32_t>(loop.carries);
  std::unordered_map<Port, std::uint32_t> carries;
  for (std::uint32_t i = 0; i < count; ++i) carries.emplace(body.inputs()[i].port, i);
  const auto carry_at = [&](Port port) {
    const auto found = carries.find(port);
    return found == carries.end() ? none : found->second;
  };
  std::vector<std::uint32_t> from(count);      // the carry whose value this one takes, or none
  std::vector<std::uint32_t> to(count, none);  // the first carry that takes this one's value
  std::vector<bool> member(count, false);
  for (std::uint32_t i = 0; i < count; ++i) {
    from[i] = carry_at(behind(body, body.updates()[i].port));
    if (from[i] == none) continue;
    // A value goes on in one place only: others that take it get a copy.
    if (to[from[i]] == none) to[from[i]] = i;
    else from[i] = none;
  }
  std::vector<CarryChain> chains;
  const auto follow = [&](std::uint32_t first) {
    CarryChain chain;
    for (std::uint32_t i = first; i != none && !member[i]; i = to[i]) {
      chain.members.push_back(i);
      member[i] = true;
    }
    chains.push_back(std::move(chain));
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    if (from[i] == none) follow(i);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (member[i]) continue;
    follow(i);
    chains.back().cyclic = true;
  }
  const std::uint32_t first_output = loop.tested ? 1 : 0;
  std::vector<bool> taken(static_cast<std::size_t>(loop.stacked), false);
  for (CarryChain& chain : chains) {
    if (chain.cyclic) continue;
    const Port next = body.updates()[chain.members[0]].port;
    const Port carry = body.inputs()[chain.members[0]].port;
    const bool is_input = body.nodes()[body.producer(next)].op == core::OpId::read;
    for (std::uint32_t k = 0; k < loop.stacked; ++k) {
      const Port output = body.outputs()[first_output + k];
      if (!chain.stack && !is_input && !taken[k] && output == next) {
        chain.stack = k;
        taken[k] = true;
      }
    }
    if (chain.stack) continue;
    for (std::uint32_t k = 0; k < loop.stacked && !chain.history; ++k) {
      if (taken[k] || body.outputs()[first_output + k] != carry) continue;
      chain.history = k;
      taken[k] = true;
    }
  }
  return chains;
}

}  // namespace tyto::optimiser
