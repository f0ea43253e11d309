// Pairs of operators in one loop against the loops of the two, bit by bit.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "devices/cpu/elementwise/tile_loops.hpp"
#include "devices/cpu/instruction_set.hpp"
#include "engine/core/operator.hpp"

using namespace tyto;

namespace {

std::vector<float> numbers(std::uint32_t seed, std::size_t count) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> spread(-3.0f, 3.0f);
  std::vector<float> values(count);
  for (float& value : values) value = spread(random);
  values[0] = 0.0f;
  values[1] = -0.0f;
  values[2] = INFINITY;
  values[3] = 1e38f;
  return values;
}

}  // namespace

TEST_CASE("every pair gives the bits of its operators one by one, in vectors and in the rest") {
  for (const cpu::InstructionSet set :
       {cpu::InstructionSet::baseline, cpu::InstructionSet::avx2, cpu::InstructionSet::avx512}) {
    if (set > cpu::widest_instruction_set()) continue;
    CAPTURE(cpu::name_of(set));
    const cpu::TileLoops& loops = cpu::tile_loops(set);
    for (std::size_t list = 0; list < 2; ++list) {
      REQUIRE(*loops.pair_counts[list] > 5);
      for (std::size_t i = 0; i < *loops.pair_counts[list]; ++i) {
        const cpu::PairLoop& pair = loops.pairs[list][i];
        const core::OpDef& first = core::definition(static_cast<core::OpId>(pair.first));
        const core::OpDef& second = core::definition(static_cast<core::OpId>(pair.second));
        CAPTURE(first.name);
        CAPTURE(second.name);
        CAPTURE(pair.position);
        for (const std::size_t count : {256, 1003, 7}) {
          const std::vector<float> a = numbers(1, 1003), b = numbers(2, 1003), c = numbers(3, 1003);
          std::vector<float> between(count), expected(count), found(count);
          loops.f32[pair.first](between.data(), a.data(), b.data(), b.data(), count);
          const float* other = first.max_inputs == 2 ? c.data() : b.data();
          const float* left = pair.position == 0 ? between.data() : other;
          const float* right = pair.position == 0 ? other : between.data();
          loops.f32[pair.second](expected.data(), left, right, right, count);
          pair.loop(found.data(), a.data(), b.data(), c.data(), count);
          for (std::size_t k = 0; k < count; ++k) {
            if (expected[k] != expected[k] && found[k] != found[k]) expected[k] = found[k] = 0;
          }
          CHECK(std::memcmp(expected.data(), found.data(), count * sizeof(float)) == 0);
        }
      }
    }
  }
}
