// SPDX-License-Identifier: MIT
// A session together with the states its graph reads and updates: bound before a run, advanced after it.
#pragma once

#include <memory>

#include "engine/graph/evaluate.hpp"
#include "engine/graph/random.hpp"
#include "engine/run/packed_weights.hpp"
#include "engine/run/session.hpp"

namespace tyto::run {

class BoundSession {
 public:
  explicit BoundSession(std::shared_ptr<const Executable> executable, core::BufferRef arena = nullptr)
      : session_(std::move(executable), std::move(arena)) {}

  Session& session() { return session_; }
  const Session& session() const { return session_; }

  /// Binds states and the random sequence, runs, and gives the states their new versions.
  void run();
  /// Allows other threads to read the same states at the same time.
  void read_beside_others();
  /// Releases packed weights that nobody else shares: the next run packs them anew.
  void release_packed();

 private:
  void bind_state(std::uint32_t input);
  const core::Array& key_of(const Generator& generator);

  Session session_;
  PackedWeights::ReadContents read_ = contents;
  core::Array key_;  // of the random sequence, on the host
};

}  // namespace tyto::run
