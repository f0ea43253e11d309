// SPDX-License-Identifier: MIT
// The process-wide sequence of random numbers: a seed and a count of draws.
#pragma once

#include <cstdint>

#include "core/graph/symbol.hpp"
#include "tyto/tensor.hpp"

namespace tyto::run {

struct Generator {
  std::uint64_t seed = 0;
  std::uint64_t draws = 0;
};

Generator generator();
void set_generator(Generator generator);

/// While alive, this thread draws from a copy of the sequence, so that recording does not advance it.
class OwnGenerator {
 public:
  OwnGenerator();
  ~OwnGenerator();
  OwnGenerator(const OwnGenerator&) = delete;
  OwnGenerator& operator=(const OwnGenerator&) = delete;

  /// The position of the sequence at the beginning.
  const Generator& start() const { return start_; }

 private:
  Generator start_;
  Generator now_ = start_;
  Generator* outer_;
};

/// Advances the sequence by `count` draws and returns it as it was before.
Generator advance_generator(std::uint64_t count);

/// The state that represents the sequence in graphs.
const std::shared_ptr<core::State>& generator_state();

/// {seed, draw number} as an i64[2] leaf of the next draw, which is taken.
Value next_draw_key(core::Mode mode);
/// The same for an explicit key.
Value draw_key(core::Mode mode, std::uint64_t seed, std::uint64_t stream);
/// The key of the next draw, and the number of the draw among those of that key.
struct Draw {
  Value key;
  std::int64_t number = 0;
};
Draw next_draw(core::Mode mode);

/// The key of a loop or branch in eager mode: the next draw, from which those inside are numbered.
Key next_region_key();

/// While alive, draws on this thread are those of a region: numbered from a key of its own, so that they do not depend
/// on how often other regions run.
class DrawScope {
 public:
  explicit DrawScope(const Key& key);
  /// For a region being recorded; `key` is the parameter of its key.
  explicit DrawScope(Value key);
  /// Draws are refused: `what` names where.
  explicit DrawScope(const char* what);
  ~DrawScope();
  DrawScope(const DrawScope&) = delete;
  DrawScope& operator=(const DrawScope&) = delete;

 private:
  friend Draw next_draw(core::Mode mode);
  friend Key next_region_key();

  /// The region that a draw of this mode belongs to, if there is any. Throws GraphError where draws are refused.
  static DrawScope* innermost(core::Mode mode);

  Key key_;
  Value parameter_;  // empty where the key is known
  const char* refusing_ = nullptr;
  std::int64_t draws_ = 0;
  DrawScope* outer_;
};

/// The number of a key's draw in its sequence.
std::uint64_t draw_of_key(const core::Array& key);

}  // namespace tyto::run
