// SPDX-License-Identifier: MIT
// Blocks of regions are planned together with those around them.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "engine/graph/trace.hpp"
#include "engine/regions/run/region_kernel.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/executable.hpp"
#include "tyto/tyto.hpp"

namespace common_plan_test {

using tyto::Block;
using Tensor = tyto::Tensor<tyto::Lazy>;
using List = std::vector<Tensor>;

/// A chain of products, softmaxes and transposed sums of several sizes, with loops and branches among them.
class Nest {
 public:
  explicit Nest(std::uint32_t seed) : random_(seed) {}

  tyto::core::Graph graph() {
    const Tensor p = Tensor::placeholder({16, 16}, tyto::DType::f32);
    const Tensor y = chain({p, tanh(p)}, 6, 2);
    return tyto::run::trace({.outputs = std::vector<tyto::Value>{y}, .updates = {}, .inputs = {}}).graph;
  }

 private:
  std::size_t draw(std::size_t n) { return random_() % n; }

  Tensor chain(List live, int length, int depth) {
    for (int i = 0; i < length; ++i) {
      const Tensor a = live[draw(live.size())], b = live[draw(live.size())];
      // A temporary several times as large as what comes of it.
      const auto rows = static_cast<std::int64_t>(1 + draw(4));
      const auto wide = [&](const Tensor& x) { return softmax(concat(List(static_cast<std::size_t>(rows), x))); };
      switch (depth == 0 ? 0 : draw(4)) {
        case 1:
          live.push_back(tyto::fori_loop(0, 3, a, [&](const Tensor&, const Tensor& c) {
            return tanh(chain({c, b}, 3, depth - 1));
          }));
          break;
        case 2:
          live.push_back(cond(
              sum(a) > 1.0,
              [&] {
                return chain({a, b}, 3, depth - 1);
              },
              [&] {
                return chain({b, a}, 2, depth - 1);
              }));
          break;
        default: live.push_back(matmul(a, b) + sum(wide(a).reshape({rows, 16, 16}), {0}));
      }
    }
    return matmul(live.back(), live[draw(live.size())]);
  }

  std::mt19937 random_;
};

TEST_CASE(
    "blocks of regions are planned among those around them, in no more memory than an arena for each region takes") {
  std::int64_t common = 0, apart = 0;
  std::size_t lower = 0, within = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const tyto::run::Executable executable(Nest(seed).graph(), tyto::run::cpu_device(), {.check_plan = true});
    CHECK(executable.instants().size() == executable.steps().size() + 1);
    // As if each region were one block of its step.
    std::vector<Block> blocks;
    for (const Block& block : executable.blocks()) {
      if (block.id < tyto::run::Executable::first_region_block) blocks.push_back(block);
      else ++within;
    }
    for (std::size_t i = 0; i < executable.steps().size(); ++i) {
      const auto& region = executable.steps()[i].region;
      if (region == nullptr) continue;
      const std::int64_t begin = executable.instants()[i], end = executable.instants()[i + 1];
      CHECK(end - begin == region->layout().duration);
      blocks.push_back({.id = static_cast<std::int64_t>(i),
                        .lower = begin,
                        .upper = end,
                        .size = static_cast<std::int64_t>(region->workspace()),
                        .alignment = 64,
                        .label = {}});
    }
    const std::int64_t height = tyto::plan_memory(blocks, {.alignment = 64}).height;
    apart += height;
    common += executable.plan().height;
    if (executable.plan().height < height) ++lower;
  }
  MESSAGE(common, " bytes planned together, ", apart, " with an arena a region; lower in ", lower, " of 100");
  CHECK(within > 0);
  CHECK(lower > 0);
  CHECK(common < apart);
}

}  // namespace common_plan_test
