// SPDX-License-Identifier: MIT
// A session together with the states its graph reads and updates: bound before a run, advanced after it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/graph/symbol.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/random.hpp"
#include "engine/run/packed_weights.hpp"
#include "engine/run/session.hpp"

namespace tyto::run {

class BoundSession {
 public:
  explicit BoundSession(std::shared_ptr<const Executable> executable, core::BufferRef arena = nullptr);

  Session& session() { return session_; }
  const Session& session() const { return session_; }

  /// Binds states and the random sequence, runs, and gives the states their new versions.
  void run();
  /// Allows other threads to read the same states at the same time.
  void read_beside_others();
  /// Releases everything bound: the next run binds the states anew.
  void release_inputs();
  /// Releases packed weights that nobody else shares: the next run packs them anew.
  void release_packed();

 private:
  static constexpr std::uint64_t never = UINT64_MAX;

  /// A state whose contents are bound, and stay so while its count does: of what may have changed them, and where a run
  /// writes them of what may have obtained them too. One that others use between the runs is released after each, or
  /// who writes it would have to copy it.
  struct BoundState {
    core::State* state;
    std::uint32_t input;
    bool written;
    bool bound = false, shared = false;
    std::uint64_t count = never;  // in the last run

    std::uint64_t count_now() const { return written ? state->accesses() : state->revision(); }
  };

  void bind_state(BoundState& each);
  const core::Array& key_of(const Generator& generator);

  Session session_;
  std::vector<BoundState> states_;
  std::vector<std::uint32_t> required_;    // inputs that somebody else binds
  std::vector<std::uint32_t> generators_;  // inputs that take the key of the random sequence
  PackedWeights::ReadContents read_ = contents;
  core::Array key_;  // of the random sequence, on the host
};

}  // namespace tyto::run
