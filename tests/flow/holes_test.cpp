// SPDX-License-Identifier: MIT
// Lifetimes with holes: memory that one arm of a branch does not need serves other values in it, and results stay those
// of eager evaluation.
#include <doctest/doctest.h>

#include <random>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "engine/graph/trace.hpp"
#include "engine/regions/run/region_kernel.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/executable.hpp"
#include "tests/support/numbers.hpp"

namespace holes_test {

using tyto::Block;
using tyto::DType;
using tyto::Eager;
using tyto::Lazy;
using tyto::Span;
using tyto_test::Numbers;
using tyto_test::numbers;

constexpr std::int64_t side = 12;

/// A chain of products and sums with temporaries of several sizes, branches of two to four arms and loops among them,
/// whose arms and bodies use what was computed before them. All numbers are whole and small: both modes give the same.
template <class Mode>
class Nest {
 public:
  using T = tyto::Tensor<Mode>;
  explicit Nest(std::uint32_t seed) : random_(seed) {}

  T operator()(const T& p) { return chain({p, p + 1}, 6, 2); }

 private:
  std::size_t draw(std::size_t n) { return random_() % n; }
  static T small(const T& x) { return x % 17.0; }

  T chain(std::vector<T> live, int length, int depth) {
    for (int i = 0; i < length; ++i) {
      const T a = live[draw(live.size())], b = live[draw(live.size())];
      switch (depth == 0 ? 0 : draw(4)) {
        case 1: live.push_back(loop(a, b, depth)); break;
        case 2: live.push_back(branch(live, a, depth)); break;
        default: live.push_back(small(matmul(a, b) + wide(a)));
      }
    }
    return small(matmul(live.back(), live[draw(live.size())]));
  }

  T wide(const T& x) {
    const auto rows = static_cast<std::int64_t>(1 + draw(4));
    const T all = cumsum(concat(std::vector<T>(static_cast<std::size_t>(rows), x)), 0);
    return sum(small(all).reshape({rows, side, side}), {0});
  }

  // The number of iterations and the arm depend on the data.
  T loop(const T& a, const T& b, int depth) {
    const auto trips = static_cast<std::int64_t>(draw(4));
    const std::uint32_t inner = static_cast<std::uint32_t>(random_());
    const bool sums = draw(3) == 0;
    return fori_loop(0, trips, a, [&](const T&, const T& c) {
      Nest body(inner);
      if (sums) return small(b * sum(body.chain({matmul(b, b) * sum(c), b}, 2, depth - 1)));
      return body.chain({c, b}, 3, depth - 1);
    });
  }

  T branch(const std::vector<T>& live, const T& a, int depth) {
    std::vector<std::function<T()>> arms;
    const std::size_t count = 2 + draw(3);
    for (std::size_t i = 0; i < count; ++i) {
      const T x = live[draw(live.size())], y = live[draw(live.size())];
      const std::uint32_t inner = static_cast<std::uint32_t>(random_());
      if (draw(5) == 0) arms.push_back([x] { return x; });
      else arms.push_back([x, y, inner, depth] { return Nest(inner).chain({x, y}, 3, depth - 1); });
    }
    return switch_case(sum(a).astype(DType::i64) % static_cast<std::int64_t>(count), arms);
  }

  std::mt19937 random_;
};

template <class Make>
tyto::run::Executable executable_of(const tyto::Tensor<Lazy>& p, Make make) {
  const std::vector<tyto::Value> outputs{make(p)};
  return tyto::run::Executable(tyto::run::trace({.outputs = outputs, .updates = {}, .inputs = {}}).graph,
                               tyto::run::cpu_device(), {.check_plan = true});
}

template <class Mode>
tyto::Tensor<Mode> input_of(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> data(side * side);
  for (double& each : data) each = static_cast<double>(random() % 7);
  return tyto::Tensor<Mode>::from(data, {side, side});
}

/// As if regions needed all of their operands and results all of the time.
std::vector<Block> without_holes(const tyto::run::Executable& executable) {
  std::vector<Block> blocks(executable.blocks().begin(), executable.blocks().end());
  for (Block& block : blocks) {
    block.spans = {};
    if (block.id >= tyto::run::Executable::first_region_block) continue;
    const auto& storage = executable.storages()[static_cast<std::size_t>(block.id)];
    block.lower = executable.begin_of(storage.first_instruction);
    block.upper = executable.begin_of(storage.last_step + 1);
  }
  return blocks;
}

TEST_CASE("programs of branches and loops need no more memory with holes, and many of them less") {
  std::int64_t with = 0, without = 0;
  std::size_t lower = 0, higher = 0, holes = 0, lifetimes = 0;
  constexpr std::uint32_t programs = 150;
  for (std::uint32_t seed = 0; seed < programs; ++seed) {
    CAPTURE(seed);
    const auto p = tyto::Tensor<Lazy>::placeholder({side, side}, DType::f64);
    const tyto::run::Executable executable = executable_of(p, Nest<Lazy>(seed));
    const std::int64_t whole = tyto::plan_memory(without_holes(executable), {.alignment = 64}).height;
    const std::int64_t height = executable.plan().height;
    with += height;
    without += whole;
    lower += height < whole;
    higher += height > whole;
    for (const Block& block : executable.blocks()) {
      ++lifetimes;
      holes += !block.spans.empty();
    }
  }
  MESSAGE(with, " bytes with holes in ", holes, " of ", lifetimes, " lifetimes, ", without, " without; lower in ",
          lower, ", higher in ", higher, " of ", programs);
  CHECK(lower > programs / 10);
  CHECK(higher == 0);
  CHECK(with < without);
}

TEST_CASE("programs with holes give what eager evaluation gives, by every planner and on poisoned memory") {
  const auto check = [](std::uint32_t seed, const std::string& strategy, bool poison, const std::string& passes) {
    CAPTURE(seed);
    CAPTURE(strategy);
    auto f = tyto::compile(
        [&](tyto::Tensor<Lazy> p) { return Nest<Lazy>(seed)(p); },
        tyto::CompileOptions{.memory_strategy = strategy, .check_plan = true, .poison = poison, .passes = passes});
    // Other data go other ways.
    for (const std::uint32_t data : {seed, seed + 1000, seed + 2000}) {
      const Numbers expected = numbers(Nest<Eager>(seed)(input_of<Eager>(data)));
      CHECK(numbers(f(input_of<Lazy>(data))) == expected);
    }
  };
  for (std::uint32_t seed = 0; seed < 150; ++seed) check(seed, "best", seed % 2 == 0, seed % 3 == 0 ? "none" : "");
  for (const tyto::MemoryStrategy& each : tyto::memory_strategies()) {
    if (!each.available) continue;
    for (std::uint32_t seed = 200; seed < 206; ++seed) check(seed, std::string(each.name), true, "");
  }
}

constexpr std::int64_t large = 128;
constexpr std::size_t large_bytes = large * large * sizeof(float);

tyto::Tensor<Lazy> large_input() { return tyto::Tensor<Lazy>::placeholder({large, large}, DType::f32, "p"); }

TEST_CASE("an operand that two of three arms read is not needed in the third") {
  using T = tyto::Tensor<Lazy>;
  const T input = large_input();
  const tyto::run::Executable executable = executable_of(input, [](const T& p) {
    const T shared = matmul(p, p);
    const std::vector<std::function<T()>> arms{[&] { return matmul(shared, p); },
                                               [&] {
                                                 const T a = matmul(p, p * 2), b = matmul(a, p);
                                                 return matmul(a, b);
                                               },
                                               [&] { return matmul(p, shared); }};
    return sum(switch_case(sum(p(0)).astype(DType::i64), arms));
  });
  bool hole = false;
  for (const Block& block : executable.blocks()) {
    hole = hole || (block.size == static_cast<std::int64_t>(large_bytes) && block.spans.size() > 1);
  }
  CHECK(hole);
  // In the arm in the middle two temporaries and the result.
  MESSAGE(executable.arena_bytes(), " bytes, a matrix takes ", large_bytes);
  CHECK(executable.arena_bytes() < tyto::plan_memory(without_holes(executable), {.alignment = 64}).height);
}

TEST_CASE("a branch's result takes no memory before an arm computes it") {
  using T = tyto::Tensor<Lazy>;
  const T input = large_input();
  // An arm needs three large matrices at once before the result, which is as large as one.
  const auto arm = [](const T& p, double factor) {
    const T a = matmul(p, p * factor), b = matmul(a, p);
    return p * sum(matmul(a, b));
  };
  const std::size_t alone = executable_of(input, [&](const T& p) { return matmul(arm(p, 2), p); }).arena_bytes();
  const std::size_t chosen = executable_of(input, [&](const T& p) {
                               return matmul(cond(
                                                 sum(p(0)) > 1.0, [&] { return arm(p, 2); }, [&] { return arm(p, 3); }),
                                             p);
                             }).arena_bytes();
  MESSAGE(chosen, " bytes, with one arm alone ", alone, ", a matrix takes ", large_bytes);
  CHECK(chosen < alone + large_bytes / 2);
}

}  // namespace holes_test
