// SPDX-License-Identifier: MIT
// Results computed in place of what they were made of, in plans above their bound: the same bits as without reuse.
#include <algorithm>
#include <random>

#include "tests/run/same_bits.hpp"

namespace tyto {
namespace {

using L = Tensor<Lazy>;

/// Vectors of several lengths, sorted, joined, cut, and computed over one another.
Outputs random_program(unsigned seed, const L& x) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  std::vector<L> made{x};
  for (std::size_t left = 5 + below(8); left > 0; --left) {
    const L a = made[made.size() - 1 - below(std::min<std::size_t>(made.size(), 3))];
    const std::int64_t length = a.shape()[0];
    switch (below(5)) {
      case 0: made.push_back(sigmoid(a)); break;
      case 1: made.push_back(tanh(sigmoid(a) * 3.0f) - a); break;
      case 2: made.push_back(concat<Lazy>({sort(a, 0), sort(-a, 0)}, 0)); break;
      case 3: made.push_back(sort(length > 512 ? a(slice(0, length / 2)) : a, 0)); break;
      default: made.push_back(sort(a, 0));
    }
  }
  return {sum(made.back()), sum(made[below(made.size())]), sum(made[below(made.size())])};
}

}  // namespace

TEST_CASE("results in place of what they were made of have the bits that they have without reuse") {
  const L x = L::normal({1024}, {.key = Key{4}});
  for (unsigned seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const auto program = [&] {
      return std::function<Outputs(L)>([&](const L& given) { return random_program(seed, given); });
    };
    const auto expected = bits_after(program, plain_options(), 1, x);
    for (const bool poison : {false, true}) {
      // A strategy whose plans lie above their bound often enough.
      auto function = compile(
          program(),
          CompileOptions{.memory_strategy = "linear_scan", .check_plan = true, .poison = poison, .passes = "none"});
      CHECK(bits_of(function(x)) == expected);
    }
  }
}

}  // namespace tyto
