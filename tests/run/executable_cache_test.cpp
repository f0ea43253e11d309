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
