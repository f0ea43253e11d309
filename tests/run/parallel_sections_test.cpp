// SPDX-License-Identifier: MIT
// Steps that run at the same time: the sections found, the memory of their lanes, and the numbers.
#include <algorithm>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "devices/cpu/system/threads.hpp"
#include "engine/graph/trace.hpp"
#include "engine/prepare/parallel_sections.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/executable.hpp"

namespace tyto::run {

namespace {

using Lazy = Tensor<tyto::Lazy>;

std::set<std::int64_t> elements_of(const core::View& view) {
  std::set<std::int64_t> elements{view.offset};
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    std::set<std::int64_t> more;
    for (const std::int64_t element : elements) {
      for (std::int64_t k = 0; k < view.shape[i]; ++k) more.insert(element + k * view.strides[i]);
    }
    elements = std::move(more);
  }
  return elements;
}

constexpr double meeting = 1e4;

/// Two threads, whatever the machine has.
class TwoThreads {
 public:
  TwoThreads() : before_(cpu::threads()) { cpu::set_threads(2); }
  ~TwoThreads() { cpu::set_threads(before_); }

 private:
  int before_;
};

/// A mean of small networks that have nothing to do with each other.
Lazy ensemble(const Lazy& x, int towers) {
  std::vector<Lazy> results;
  for (int i = 0; i < towers; ++i) {
    Lazy y = x;
    for (int layer = 0; layer < 3; ++layer) {
      const Lazy w = Lazy::linspace(-0.1 - 0.01 * i, 0.1 + 0.02 * layer, 96 * 96).reshape({96, 96});
      y = tanh(matmul(y, w));
    }
    results.push_back(y);
  }
  return mean(stack(results), 0);
}

/// Branches whose results are written side by side into one tensor.
Lazy inception(const Lazy& x) {
  const auto kernel = [&](std::int64_t side, std::int64_t to) {
    return Lazy::linspace(-0.3, 0.4, side * side * x.shape()[3] * to).reshape({side, side, x.shape()[3], to});
  };
  return concat(
      std::vector{relu(conv2d(x, kernel(1, 24), {.padding = same})), relu(conv2d(x, kernel(3, 32), {.padding = same})),
                  relu(conv2d(x, kernel(3, 40), {.padding = same})), max_pool(x, 3, {.stride = 1, .padding = same})},
      3);
}

template <class F>
void check_same_bits(const F& f, const Lazy& x) {
  const TwoThreads threads;
  auto serial = compile(f);
  auto parallel = compile(f, CompileOptions{.check_plan = true, .concurrency = 2});
  const auto expected = serial(x).template to_vector<float>();
  for (int run = 0; run < 20; ++run) CHECK(parallel(x).template to_vector<float>() == expected);
  CHECK(serial.report().parallel_steps == 0);
  CHECK(parallel.report().parallel_steps >= 4);
  CHECK(parallel.report().unplanned_allocations == 0);
}

}  // namespace

TEST_CASE("uses conflict where they have an element in common that one of them writes") {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  int apart = 0, side_by_side = 0;
  for (int number = 0; number < 4000; ++number) {
    StorageUse uses[2];
    const std::int64_t rows = 1 + below(4), columns = 2 + below(9);
    for (StorageUse& use : uses) {
      const std::int64_t first = below(static_cast<int>(columns)), width = 1 + below(static_cast<int>(columns - first));
      use = {0, {{rows, width}, {columns, 1}, first}, 4, below(2) == 0};
      if (below(6) == 0) use.view = core::permute(use.view, {1, 0});
      if (below(6) == 0) use.view.offset += columns * below(5);
      if (below(6) == 0) use.view.strides[1] = use.view.strides[0] = 1 + below(3);
    }
    std::vector<std::int64_t> common;
    std::ranges::set_intersection(elements_of(uses[0].view), elements_of(uses[1].view), std::back_inserter(common));
    const bool written = uses[0].written || uses[1].written;
    CAPTURE(number);
    if (!common.empty() && written) CHECK(conflict(uses[0], uses[1]));
    if (!written) CHECK(!conflict(uses[0], uses[1]));
    apart += written && !conflict(uses[0], uses[1]);
    side_by_side += written && !conflict(uses[0], uses[1]) && core::may_overlap(uses[0].view, uses[1].view);
  }
  CHECK(apart > 200);
  CHECK(side_by_side > 100);
}

TEST_CASE("lanes share nothing that one of them writes, and keep the order of their steps") {
  std::mt19937 random(11);
  std::size_t found = 0;
  for (int number = 0; number < 300; ++number) {
    std::vector<SectionStep> steps;
    const auto branches = static_cast<std::uint32_t>(1 + random() % 5);
    for (int i = 0; i < 60; ++i) {
      // Steps read what an earlier step of their branch wrote; now and then one reads of all.
      SectionStep step;
      const auto branch = static_cast<std::uint32_t>(random() % branches);
      const core::View whole = core::View::dense({8});
      step.uses.push_back({branch, whole, 4, false});
      step.uses.push_back({branch, whole, 4, true});
      if (random() % 16 == 0) {
        for (std::uint32_t other = 0; other < branches; ++other) step.uses.push_back({other, whole, 4, false});
      }
      step.alone = step.together = 1000.0 * static_cast<double>(1 + random() % 40);
      step.needs_order = random() % 40 == 0;
      steps.push_back(step);
    }
    std::uint32_t before = 0;
    for (const ParallelSection& section : parallel_sections(steps, 2 + random() % 3, meeting)) {
      ++found;
      CHECK(section.first >= before);
      before = section.end;
      std::vector<std::uint32_t> all;
      for (const auto& lane : section.lanes) {
        CHECK(std::ranges::is_sorted(lane));
        all.insert(all.end(), lane.begin(), lane.end());
      }
      std::ranges::sort(all);
      REQUIRE(all.size() == section.end - section.first);
      for (std::uint32_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == section.first + i);
      for (std::size_t a = 0; a < section.lanes.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          for (const std::uint32_t x : section.lanes[a]) {
            for (const std::uint32_t y : section.lanes[b]) {
              CHECK(!steps[x].needs_order);
              for (const StorageUse& one : steps[x].uses) {
                for (const StorageUse& other : steps[y].uses) CHECK(!conflict(one, other));
              }
            }
          }
        }
      }
    }
  }
  CHECK(found > 100);
}

TEST_CASE("a chain, and branches that are over at once, have no section") {
  std::vector<SectionStep> chain(100), brief(8);
  for (SectionStep& step : chain) step = {{{0, core::View::dense({4}), 4, true}}, 1e5, 1e5, false};
  CHECK(parallel_sections(chain, 2, meeting).empty());
  std::uint32_t storage = 0;
  for (SectionStep& step : brief) step = {{{storage++, core::View::dense({4}), 4, true}}, 100, 100, false};
  CHECK(parallel_sections(brief, 2, meeting).empty());
  for (SectionStep& step : brief) step.alone = step.together = 1e5;
  REQUIRE(parallel_sections(brief, 2, meeting).size() == 1);
  CHECK(parallel_sections(brief, 2, meeting)[0].lanes ==
        std::vector<std::vector<std::uint32_t>>{{0, 2, 4, 6}, {1, 3, 5, 7}});
  CHECK(parallel_sections(brief, 1, meeting).empty());
}

TEST_CASE("branches that run at the same time give the bits of one after the other") {
  check_same_bits([](Lazy x) { return ensemble(x, 16); }, Lazy::linspace(-1, 1, 24 * 96).reshape({24, 96}));
  check_same_bits([](Lazy x) { return inception(inception(x)); },
                  Lazy::linspace(-2, 2, 8 * 8 * 32).reshape({1, 8, 8, 32}));
  check_same_bits([](Lazy x) { return grad([](Lazy y) { return sum(square(ensemble(y, 6))); })(x); },
                  Lazy::linspace(-1, 1, 24 * 96).reshape({24, 96}));
}

TEST_CASE("memory that lanes use at the same time does not overlap") {
  const TwoThreads threads;
  const Lazy x = Lazy::placeholder({1, 8, 8, 32}, DType::f32, "x");
  const std::vector<Value> outputs{inception(inception(x))};
  Traced traced = trace({.outputs = outputs, .updates = {}, .inputs = {}});
  const Executable plan(std::move(traced.graph), cpu_device(), CompileOptions{.concurrency = 2});
  std::size_t pairs = 0;
  REQUIRE(!plan.sections().empty());
  const auto arena_uses = [&](std::uint32_t number) {
    std::vector<std::uint32_t> storages;
    const ExecutableStep& step = plan.steps()[number];
    for (std::uint32_t i = 0; i < step.input_count + step.output_count; ++i) {
      storages.push_back(plan.operands()[step.first_operand + i]);
    }
    if (step.workspace != UINT32_MAX) storages.push_back(step.workspace);
    std::erase_if(storages, [&](std::uint32_t i) { return plan.storages()[i].kind != StorageKind::arena; });
    return storages;
  };
  for (const ParallelSection& section : plan.sections()) {
    for (std::size_t a = 0; a < section.lanes.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        for (const std::uint32_t x_step : section.lanes[a]) {
          for (const std::uint32_t y_step : section.lanes[b]) {
            for (const std::uint32_t i : arena_uses(x_step)) {
              for (const std::uint32_t j : arena_uses(y_step)) {
                if (i == j) continue;
                const Storage &one = plan.storages()[i], &other = plan.storages()[j];
                CHECK((one.offset + one.bytes <= other.offset || other.offset + other.bytes <= one.offset));
                ++pairs;
              }
            }
          }
        }
      }
    }
  }
  CHECK(pairs > 0);
}

TEST_CASE("of branches that fail the exception of the earliest step is thrown, and nothing is changed") {
  const TwoThreads threads;
  const Lazy state = Lazy::variable(3.0);
  const auto tower = [](Lazy x, const Lazy& index, int layers) {
    for (int i = 0; i < layers; ++i) x = tanh(matmul(x, x));
    return sum(take(x, index, 0));
  };
  auto step = compile(
      [&](Lazy x, Lazy i, Lazy j) {
        assign(state, state + 1.0);
        return tower(x, i, 9) + tower(x * 0.5, j, 2) + tower(x * 0.25, j * 0, 9);
      },
      CompileOptions{.concurrency = 2});
  const Lazy x = Lazy::linspace(-0.1, 0.1, 96 * 96).reshape({96, 96}), none(std::int64_t{0});
  (void)step(x, none, none).item();
  CHECK(state.item() == 4);
  for (int run = 0; run < 50; ++run) {
    CHECK_THROWS_WITH_AS((void)step(x, Lazy(std::int64_t{100}), Lazy(std::int64_t{200})).item(),
                         doctest::Contains("100"), IndexError);
  }
  CHECK(state.item() == 4);
  CHECK_THROWS_WITH_AS(compile([](Lazy a) { return a; }, CompileOptions{.concurrency = 0})(x),
                       "compile: concurrency must be 1 or more, got 0", ValueError);
}

TEST_CASE("sections of many steps are found in time that grows with their number") {
  std::vector<SectionStep> steps(200'000);
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    steps[i] = {{{i % 4, core::View::dense({4}), 4, true}}, 500, 500, false};
  }
  CHECK(parallel_sections(steps, 2, 1e9).empty());
}

TEST_CASE("training with branches that run at the same time gives the states of one after the other") {
  const TwoThreads threads;
  std::vector<std::vector<float>> states;
  for (const int concurrency : {1, 2}) {
    seed(5);
    std::vector<nn::Sequential> towers;
    NamedList<Tensor<Any>> named;
    std::vector<Tensor<Any>> parameters;
    for (int i = 0; i < 6; ++i) {
      towers.push_back({nn::Linear({.in = 64, .out = 128}), tyto::tanh, nn::Linear({.in = 128, .out = 1})});
      for (const auto& p : towers.back().parameters()) parameters.push_back(p);
    }
    nn::Descent descent = nn::adam({.rate = 0.01});
    const auto objective = [&](const Lazy& x) {
      Lazy total = Lazy(0.0);
      for (const auto& tower : towers) total = total + mean(square(tower(x) - 1.0));
      return total;
    };
    auto step = compile(
        [&](Lazy x) {
          auto [loss, gradients] = value_and_grad(objective, parameters)(x);
          descent.update(parameters, gradients);
          return loss;
        },
        CompileOptions{.check_plan = true, .concurrency = concurrency});
    const Lazy x = Lazy::linspace(-1, 1, 32 * 64).reshape({32, 64});
    for (int i = 0; i < 5; ++i) (void)step(x).item();
    CHECK((step.report().parallel_steps > 0) == (concurrency == 2));
    auto& all = states.emplace_back();
    for (const auto& p : parameters) {
      const auto numbers = p.to_vector<float>();
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
  }
  CHECK(states[0] == states[1]);
}

}  // namespace tyto::run
