// The process-wide sequence of random numbers: a seed and a count of draws.
#pragma once

#include <cstdint>

#include "core/symbol.hpp"

namespace tyto::run {

struct Generator {
  std::uint64_t seed = 0;
  std::uint64_t draws = 0;
};

Generator generator();
void set_generator(Generator generator);
/// Takes `count` draws off the sequence and returns it as it was before.
Generator advance_generator(std::uint64_t count);

/// The state that stands for the sequence in graphs.
const std::shared_ptr<core::State>& generator_state();

/// {seed, draw number} as an i64[2] leaf of the next draw, which is taken.
Value next_draw_key(core::Mode mode);
/// The same for an explicit key.
Value draw_key(core::Mode mode, std::uint64_t seed, std::uint64_t stream);
/// Which draw of its sequence a key stands for.
std::uint64_t draw_of_key(const core::Array& key);

}  // namespace tyto::run
