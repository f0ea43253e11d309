// SPDX-License-Identifier: MIT
// The checker of contents against plans that are right, and against the same plans with a fault planted in each: what a
// planner of loops and branches could get wrong.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <random>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "core/graph/op_ids.hpp"
#include "engine/graph/trace.hpp"
#include "engine/prepare/contents_check.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/executable.hpp"

namespace planted_faults {

using tyto::Shape;
using Tensor = tyto::Tensor<tyto::Lazy>;
using List = std::vector<Tensor>;
using tyto::run::PlacedChain;
using tyto::run::PlannedProgram;
using tyto::run::PlannedRegion;
using tyto::run::PlannedStep;
using tyto::run::RegionPlace;
using tyto::run::Storage;
using tyto::run::StorageKind;

constexpr std::int64_t side = 8;
constexpr std::size_t programs = 500;

/// A loop drawn at random: a delay by one to three, an exchange of two carries beside it, products and element-wise
/// operators with temporaries between them, rows read and stacked, a branch in between, captured values.
tyto::core::Graph random_loop(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto one_in = [&](std::uint32_t n) { return random() % n == 0; };
  const auto input = [](const Shape& shape) { return Tensor::placeholder(shape, tyto::DType::f32); };
  const std::size_t delay = 1 + random() % 3;
  const std::int64_t trips = 2 + static_cast<std::int64_t>(random() % 8);
  const Tensor p = input({side, side}), w = input({side, side}), xs = input({trips, side, side});
  const Tensor early = matmul(p, w), late = tanh(p);
  const bool exchanges = one_in(2), stacks_carry = one_in(3), branches = one_in(2), reverse = one_in(3);
  const bool reads_late = one_in(2);
  const auto layers = random() % 3;
  List init;
  for (std::size_t i = 0; i < delay; ++i) init.push_back(one_in(2) ? p : matmul(p, w) * static_cast<double>(i + 2));
  if (exchanges) init.insert(init.end(), {p + 1, p * 3});
  const auto [last, stacked] = scan(
      [&](const List& c, const Tensor& x) {
        // `early` is read before all else, and not again in the iteration.
        Tensor y = matmul(c[0], early) + x;
        for (std::size_t i = 0; i < layers; ++i) y = matmul(softmax(y), late);
        if (branches) {
          y = cond(
              sum(y) > 1.0, [&] { return matmul(tanh(matmul(y, w)), w); }, [&] { return y; });
        }
        if (exchanges) y = matmul(y, c[delay]) * c[delay + 1];
        List next(c.begin() + 1, c.begin() + static_cast<std::ptrdiff_t>(delay));
        next.push_back(y);
        if (exchanges) next.insert(next.end(), {c[delay + 1], c[delay]});
        const Tensor also = reads_late ? softmax(y) * c[0] : softmax(y);  // while the next value is there already
        return std::pair(next, stacks_carry ? y : also);
      },
      init, xs, {.reverse = reverse});
  std::vector<tyto::Value> outputs{sum(stacked)};
  for (const Tensor& each : last) outputs.push_back(one_in(2) ? each : sum(each));
  return tyto::run::trace({.outputs = outputs, .updates = {}, .inputs = {}}).graph;
}

/// Branches and steps without a loop.
tyto::core::Graph random_branch(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&](std::uint32_t n) { return random() % n; };
  const Tensor p = Tensor::placeholder({side, side}, tyto::DType::f32);
  List live{matmul(p, p), tanh(matmul(p, p))};
  for (int i = 0; i < 5; ++i) {
    const Tensor a = live[draw(static_cast<std::uint32_t>(live.size()))];
    const Tensor b = live[draw(static_cast<std::uint32_t>(live.size()))];
    live.push_back(draw(2) == 0
                       ? matmul(a, b)
                       : cond(
                             sum(a) > 1.0, [&] { return matmul(softmax(a), b); }, [&] { return matmul(b, a) + a; }));
  }
  const std::vector<tyto::Value> outputs{sum(live[5]), sum(matmul(live[6], live[4]))};
  return tyto::run::trace({.outputs = outputs, .updates = {}, .inputs = {}}).graph;
}

/// Branches whose arms read different operands.
tyto::core::Graph random_arms(std::uint32_t seed) {
  std::mt19937 random(seed);
  const Tensor p = Tensor::placeholder({side, side}, tyto::DType::f32);
  List live{matmul(p, p), tanh(matmul(p, p)), matmul(matmul(p, p), p)};
  for (int i = 0; i < 4; ++i) {
    const Tensor a = live[random() % live.size()], b = live[random() % live.size()];
    live.push_back(cond(
        sum(live[0]) > 1.0, [&] { return matmul(softmax(a), a); }, [&] { return matmul(tanh(matmul(b, b)), b); }));
  }
  const std::vector<tyto::Value> outputs{sum(live[5]), sum(live[6])};
  return tyto::run::trace({.outputs = outputs, .updates = {}, .inputs = {}}).graph;
}

/// Plants a fault where the plan has a place for it, and says whether it had.
using Plant = std::function<bool(PlannedProgram&)>;

struct Seen {
  std::size_t planted = 0, reported = 0;
};

Seen seen_in(tyto::core::Graph (*draw)(std::uint32_t), const Plant& plant) {
  Seen seen;
  for (std::uint32_t seed = 0; seed < programs; ++seed) {
    const tyto::run::Executable executable(draw(seed), tyto::run::cpu_device(), {.check_plan = true});
    PlannedProgram program = planned_program(executable);
    if (!plant(program)) continue;
    ++seen.planted;
    const std::vector<std::string> faults = check_contents(program);
    if (faults.empty()) continue;
    ++seen.reported;
    // Each says what was found, or what was written over.
    const bool named = faults[0].find(" instead of ") != std::string::npos ||
                       faults[0].find(" writes over its operand ") != std::string::npos;
    CHECK_MESSAGE(named, faults[0]);
  }
  MESSAGE("planted in " << seen.planted << " programs, reported in " << seen.reported);
  return seen;
}

PlannedRegion* loop_of(PlannedProgram& program) {
  for (PlannedStep& step : program.steps) {
    if (step.regions && step.regions->loop != nullptr) return step.regions.get();
  }
  return nullptr;
}
PlacedChain* ring_of(PlannedRegion& loop) {
  for (PlacedChain& placed : loop.places.chains) {
    if (placed.places != 0) return &placed;
  }
  return nullptr;
}
/// Calls `plant` with the loop and its ring, if it has one.
Plant in_ring(const std::function<bool(PlannedRegion&, PlacedChain&)>& plant) {
  return [plant](PlannedProgram& program) {
    PlannedRegion* loop = loop_of(program);
    if (loop == nullptr) return false;
    PlacedChain* ring = ring_of(*loop);
    return ring != nullptr && plant(*loop, *ring);
  };
}

TEST_CASE("plans as they are made have no faults") {
  for (std::uint32_t seed = 0; seed < programs; ++seed) {
    CAPTURE(seed);
    for (auto* const draw : {random_loop, random_branch, random_arms}) {
      const tyto::run::Executable executable(draw(seed), tyto::run::cpu_device(), {.check_plan = true});
      const std::vector<std::string> faults = check_contents(planned_program(executable));
      CHECK_MESSAGE(faults.empty(), faults.front());
    }
  }
}

TEST_CASE("two storages that share bytes while both are needed are seen") {
  const Seen seen = seen_in(random_branch, [](PlannedProgram& program) {
    for (Storage& a : program.storages) {
      for (Storage& b : program.storages) {
        const bool meet = &a != &b && a.kind == StorageKind::arena && b.kind == StorageKind::arena && a.bytes > 4 &&
                          b.bytes > 4 && a.first_instruction < b.first_instruction && b.first_instruction < a.last_step;
        if (!meet) continue;
        b.offset = a.offset;
        return true;
      }
    }
    return false;
  });
  CHECK(seen.planted > 0);
  CHECK(seen.reported == seen.planted);
}

TEST_CASE(
    "a back edge that lifetimes ignore is seen: a body's temporary lies where a value waits for the next iteration") {
  const Seen seen = seen_in(random_loop, in_ring([](PlannedRegion& loop, PlacedChain& ring) {
                              for (const Storage& storage : loop.programs[0].program.storages) {
                                if (storage.kind != StorageKind::arena || storage.bytes == 0) continue;
                                ring.workspace = storage.offset;
                                return true;
                              }
                              return false;
                            }));
  CHECK(seen.planted > 0);
  CHECK(seen.reported > 0);
}

TEST_CASE("a ring with one place too few is seen") {
  const Seen seen = seen_in(random_loop, in_ring([](PlannedRegion&, PlacedChain& ring) {
                              --ring.places;
                              return true;
                            }));
  CHECK(seen.planted > 0);
  CHECK(seen.reported > 0);
}

TEST_CASE("a captured value that is dead after its last reader in the body's text is seen") {
  SUBCASE("the body writes a temporary over it") {
    const Seen seen = seen_in(random_loop, [](PlannedProgram& program) {
      PlannedRegion* loop = loop_of(program);
      if (loop == nullptr) return false;
      PlannedProgram& body = loop->programs[0].program;
      const auto first = static_cast<std::uint32_t>(loop->loop->carries + loop->loop->rows);
      for (const Storage& capture : body.storages) {
        if (capture.kind != StorageKind::input || capture.index < first || capture.bytes < side * side * 4) continue;
        for (Storage& other : body.storages) {
          if (other.kind != StorageKind::arena || other.bytes != capture.bytes) continue;
          if (other.first_instruction <= capture.last_step) continue;
          other.kind = StorageKind::input;
          other.index = capture.index;
          other.offset = 0;
          return true;
        }
      }
      return false;
    });
    CHECK(seen.planted > 0);
    CHECK(seen.reported > 0);
  }
  SUBCASE("the loop's addresses lie over it") {
    const Seen seen = seen_in(random_loop, [](PlannedProgram& program) {
      for (PlannedStep& step : program.steps) {
        if (!step.regions || step.regions->loop == nullptr) continue;
        const std::size_t first = static_cast<std::size_t>(step.regions->loop->carries + step.regions->loop->rows);
        for (std::size_t i = first; i < step.inputs.size(); ++i) {
          const Storage& capture = program.storages[step.inputs[i].storage];
          if (capture.kind != StorageKind::arena) continue;
          step.regions->programs[0].table = capture.offset;
          return true;
        }
      }
      return false;
    });
    CHECK(seen.planted > 0);
    CHECK(seen.reported == seen.planted);
  }
}

/// The step of an arm that reads its input last, or none.
std::size_t last_reader(const PlannedProgram& arm, std::size_t input) {
  std::size_t last = arm.steps.size();
  for (std::size_t i = 0; i < arm.steps.size(); ++i) {
    for (const auto& operand : arm.steps[i].inputs) {
      const Storage& storage = arm.storages[operand.storage];
      if (storage.kind == StorageKind::input && storage.index == input) last = i;
    }
  }
  return last;
}

/// What an arm computes before that step into memory of the arena, of so many bytes.
Storage* temporary_before(PlannedProgram& arm, std::size_t step, std::size_t bytes) {
  for (std::size_t i = 0; i < step; ++i) {
    Storage& storage = arm.storages[arm.steps[i].outputs[0].storage];
    if (storage.kind == StorageKind::arena && storage.bytes == bytes) return &storage;
  }
  return nullptr;
}

TEST_CASE("an operand that is dead in the arm that reads it instead of the one that does not is seen") {
  const Seen seen = seen_in(random_arms, [](PlannedProgram& program) {
    for (PlannedStep& step : program.steps) {
      if (!step.regions || step.regions->loop != nullptr) continue;
      for (std::size_t i = 1; i < step.inputs.size(); ++i) {
        const Storage& operand = program.storages[step.inputs[i].storage];
        if (operand.kind != StorageKind::arena) continue;
        for (const std::size_t reads : {std::size_t{0}, std::size_t{1}}) {
          PlannedProgram& reading = step.regions->programs[reads].program;
          const PlannedProgram& other = step.regions->programs[1 - reads].program;
          const std::size_t last = last_reader(reading, i - 1);
          if (last == reading.steps.size() || last_reader(other, i - 1) != other.steps.size()) continue;
          Storage* const temporary = temporary_before(reading, last, operand.bytes);
          if (temporary == nullptr) continue;
          temporary->offset = operand.offset;
          return true;
        }
      }
    }
    return false;
  });
  CHECK(seen.planted > 0);
  CHECK(seen.reported == seen.planted);
}

// Lifetimes with wrong holes also give a result that lies over an operand which an arm still reads.
TEST_CASE("a branch's result over an operand that one of its arms still reads is seen") {
  const Seen seen = seen_in(random_branch, [](PlannedProgram& program) {
    for (PlannedStep& step : program.steps) {
      if (!step.regions || step.regions->loop != nullptr) continue;
      for (std::size_t i = 1; i < step.inputs.size(); ++i) {
        if (step.inputs[i].storage == step.outputs[0].storage) continue;
        const std::uint32_t before = step.outputs[0].storage, after = step.inputs[i].storage;
        for (PlannedStep* each = &step; each != program.steps.data() + program.steps.size(); ++each) {
          for (auto* list : {&each->inputs, &each->outputs}) {
            for (auto& operand : *list) {
              if (operand.storage == before && (each != &step || list == &each->outputs)) operand.storage = after;
            }
          }
        }
        return true;
      }
    }
    return false;
  });
  CHECK(seen.planted > 0);
  CHECK(seen.reported > 0);
}

TEST_CASE("a stride of stacked rows that is too short is seen") {
  const Seen seen = seen_in(random_loop, [](PlannedProgram& program) {
    PlannedRegion* loop = loop_of(program);
    if (loop == nullptr || loop->places.row_bytes.empty()) return false;
    loop->places.row_bytes[0] -= sizeof(float);
    return true;
  });
  CHECK(seen.planted > 0);
  CHECK(seen.reported == seen.planted);
}

// Results are no lists of addresses by phase: they are copied from the places of the last iteration.
TEST_CASE("results that are taken from the places of another phase are seen") {
  const Seen seen = seen_in(random_loop, in_ring([](PlannedRegion& loop, PlacedChain&) {
                              loop.last = [places = loop.places](const PlacedChain& placed, std::size_t member,
                                                                 std::int64_t done, std::int64_t trips, bool over) {
                                return places.value(placed, member, done + 1, trips, over);
                              };
                              return true;
                            }));
  CHECK(seen.planted > 0);
  CHECK(seen.reported > 0);
}

TEST_CASE("carries that are renamed one after the other instead of at once are seen") {
  const auto renamed = [](bool cyclic) -> Plant {
    return [cyclic](PlannedProgram& program) {
      PlannedRegion* loop = loop_of(program);
      if (loop == nullptr) return false;
      bool any = false;
      for (const PlacedChain& placed : loop->places.chains) {
        any = any || (placed.chain.cyclic == cyclic && placed.chain.members.size() > 1);
      }
      // The second takes what the first has become, not what it was.
      loop->value = [places = loop->places, cyclic](const PlacedChain& placed, std::size_t member, std::int64_t t,
                                                    std::int64_t trips, bool over) {
        const bool late = placed.chain.cyclic == cyclic && t > 0;
        return places.value(placed, late ? 0 : member, t, trips, over);
      };
      return any;
    };
  };
  for (const bool cyclic : {true, false}) {
    CAPTURE(cyclic);
    const Seen seen = seen_in(random_loop, renamed(cyclic));
    CHECK(seen.planted > 0);
    CHECK(seen.reported > 0);
  }
}

TEST_CASE("an initial value that is read again in the next iteration is seen") {
  const Seen seen =
      seen_in(random_loop, in_ring([](PlannedRegion& loop, PlacedChain&) {
                loop.value = [places = loop.places](const PlacedChain& placed, std::size_t member, std::int64_t,
                                                    std::int64_t, bool) { return places.initial(placed, member); };
                return true;
              }));
  CHECK(seen.planted > 0);
  CHECK(seen.reported > 0);
}

TEST_CASE("a fault says which step of which iteration finds what") {
  const Tensor p = Tensor::placeholder({side, side}, tyto::DType::f32);
  const Tensor last = fori_loop(0, 5, p * 2, [&](const Tensor&, const Tensor& c) { return matmul(c, p); });
  const tyto::Value output = sum(last);
  const tyto::run::Executable executable(tyto::run::trace({.outputs = {&output, 1}, .updates = {}, .inputs = {}}).graph,
                                         tyto::run::cpu_device(), {.check_plan = true});
  PlannedProgram program = planned_program(executable);
  CHECK(check_contents(program).empty());
  --ring_of(*loop_of(program))->places;
  const std::vector<std::string> faults = check_contents(program);
  REQUIRE(!faults.empty());
  CHECK(faults[0] == "iteration 1: matmul writes over its operand 0 while it reads that");
}

}  // namespace planted_faults
