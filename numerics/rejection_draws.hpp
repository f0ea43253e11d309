// SPDX-License-Identifier: MIT
// Rejection: proposals of which the first accepted one is drawn, in a fixed number of rounds so that graphs have no
// loop.
#pragma once

#include <vector>

#include "core/graph/builder.hpp"
#include "numerics/distribution_draws.hpp"
#include "tyto/reduce.hpp"
#include "tyto/sets.hpp"

namespace tyto::core {

/// Parameters of a law, f64, each of the shape of all or of one that broadcasts to it.
template <class T>
using Parameters = std::vector<T>;

/// A proposal of a round of rejection, and whether it is accepted.
template <class T>
struct Proposal {
  T value, accepted;
};

// A distribution drawn by rejection has
//   rounds    after which less than one in 10^9 keeps its start
//   start     of `Parameters`
//   propose   from two even draws away from both ends, and `Parameters`

/// The first proposal that is accepted. Eager mode makes no more of them than it needs.
template <class T, class Law>
T rejection_draws(const Law& law, const Parameters<T>& parameters, const Shape& shape, const DrawOptions& options) {
  constexpr std::int64_t rounds = Law::rounds;
  T drawn = broadcast_to(law.start(parameters), shape), done, pending;
  Parameters<T> left = parameters;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const auto index = static_cast<std::uint64_t>(2 * round);
    T u = open_draws<T>(shape, DType::f64, split_options(options, index));
    T v = open_draws<T>(shape, DType::f64, split_options(options, index + 1));
    if (pending.defined()) u = take(u, pending), v = take(v, pending);
    const Proposal<T> proposal = law.propose(u, v, left);
    if (pending.defined()) {
      const T taken = flatnonzero(proposal.accepted);
      drawn = scatter(drawn, {take(pending, taken)}, take(proposal.value, taken));
    } else {
      drawn = where(done.defined() ? proposal.accepted && !done : proposal.accepted, proposal.value, drawn);
      done = done.defined() ? done || proposal.accepted : proposal.accepted;
    }
    const auto all_done = holds_now<T>(tyto::all(proposal.accepted));
    if (!all_done) continue;
    if (*all_done) {
      if (!options.key) skip_draws(Mode::eager, 2 * (rounds - 1 - round));
      break;
    }
    const T open = flatnonzero(!proposal.accepted);
    if (!pending.defined()) drawn = reshape(drawn, Shape{element_count(shape)});
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (element_count(parameters[i].shape()) > 1) {
        left[i] = take(pending.defined() ? left[i] : broadcast_to(left[i], shape), open);
      }
    }
    pending = pending.defined() ? take(pending, open) : open;
  }
  return reshape(drawn, shape);
}

}  // namespace tyto::core
