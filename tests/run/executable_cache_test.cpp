// SPDX-License-Identifier: MIT
// Lazy expressions evaluated one by one: an executable compiled for one serves every other of its structure.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <tyto/tyto.hpp>
#include <vector>

#include "engine/graph/executable_cache.hpp"
#include "tests/support/message.hpp"

namespace executable_cache {

namespace {

using T = tyto::Tensor<tyto::Lazy>;

/// Executables that are compiled meanwhile.
template <class F>
std::uint64_t compiled_by(const F& work) {
  const std::uint64_t before = tyto::run::executables_compiled();
  work();
  return tyto::run::executables_compiled() - before;
}

float length(const std::vector<float>& numbers) {
  const T x = T::from(numbers, {static_cast<std::int64_t>(numbers.size())});
  return sqrt(sum(x * x)).item<float>();
}

}  // namespace

TEST_CASE("a lazy expression is compiled when it is first read, and not again for other numbers") {
  CHECK(compiled_by([] { return length({3, 4}); }) == 1);
  const auto multiples = [] {
    for (const float i : {1.0F, 2.0F, 3.0F, 4.0F}) CHECK(length({5 * i, 12 * i}) == 13 * i);
  };
  CHECK(compiled_by(multiples) == 0);
}

TEST_CASE("expressions of other shapes or operators are compiled once each, and kept while they take turns") {
  constexpr std::size_t shapes = 40;
  const auto all = [] {
    for (std::size_t count = 10; count < 10 + shapes; ++count) {
      CHECK(length(std::vector<float>(count, 2)) == doctest::Approx(2 * std::sqrt(static_cast<double>(count))));
    }
  };
  CHECK(compiled_by(all) == shapes);
  CHECK(compiled_by(all) == 0);
  const auto largest = [] { CHECK(max(T{1.0, 7.0, 3.0} + 1.0).item<float>() == 8); };
  const auto smallest = [] { CHECK(min(T{1.0, 7.0, 3.0} + 1.0).item<float>() == 2); };
  CHECK(compiled_by(largest) == 1);
  CHECK(compiled_by(smallest) == 1);
  CHECK(compiled_by(largest) == 0);
  CHECK(compiled_by(smallest) == 0);
}

TEST_CASE("rows of a computed tensor are compiled once for all places, and keep their elements") {
  using tyto::slice;
  T x = T::arange(40).astype(tyto::DType::f32).reshape({20, 2}) + 0.0;
  tyto::eval({x});
  const auto sum_from = [&](std::int64_t i) { return sum(x(slice(i, i + 2)) * 3.0).item<float>(); };
  CHECK(compiled_by([&] { CHECK(sum_from(0) == 18); }) == 1);
  const auto others = [&] {
    for (std::int64_t i = 1; i < 18; ++i) CHECK(sum_from(i) == 18 + 24 * static_cast<float>(i));
  };
  CHECK(compiled_by(others) == 0);
  const T held = x(slice(4, 6)), twice = held * 2.0;  // one that is held, and one of a slice
  CHECK(sum(twice).item<float>() == 76);
  CHECK(sum(x(slice(2, 8))(slice(2, 4)) + 1.0).item<float>() == 42);
  x(slice(4, 6)) = 100.0;
  CHECK(held.to_vector<float>() == std::vector<float>{8, 9, 10, 11});
  CHECK(sum(x(slice(4, 7)) + 0.0).item<float>() == 425);
  auto slope = tyto::grad([](const T& y) { return sum(tyto::square(y(slice(1, 3)))); });
  CHECK(slope(T{1.0, 2.0, 3.0, 4.0}).to_vector<float>() == std::vector<float>{0, 4, 6, 0});
}

TEST_CASE("a slice of a state is read when its expression is evaluated, at the version it was written for") {
  const T state = T::variable(T{1.0, 2.0, 3.0, 4.0});
  const T before = state(tyto::slice(1, 3)) * 10.0;
  assign(state, T{5.0, 6.0, 7.0, 8.0});
  const T after = state(tyto::slice(1, 3)) * 10.0;
  CHECK(before.to_vector<float>() == std::vector<float>{20, 30});
  CHECK(after.to_vector<float>() == std::vector<float>{60, 70});
}

TEST_CASE("expressions with other names share what was compiled, and errors name their own") {
  const auto read = [](const char* name, std::int64_t index) {
    const tyto::NameScope scope(name);
    return tyto_test::message_of<tyto::IndexError>([&] {
      take(T{1.0, 2.0, 3.0}, T::from(std::vector{index, index}, {2})).to_vector<float>();
    });
  };
  CHECK(compiled_by([&] { CHECK(read("first", 2).empty()); }) == 1);
  CHECK(compiled_by([&] { CHECK(read("second", 1).empty()); }) == 0);
  CHECK(tyto_test::contains(read("third", 5), "index 5 is outside an axis of length 3"));
  CHECK(read("third", 5).ends_with(" (in third)"));
  CHECK(compiled_by([&] { CHECK(read("fourth", 0).empty()); }) == 0);
}

}  // namespace executable_cache
