// SPDX-License-Identifier: MIT
// Saved graphs with nested regions: damaged ones are refused or read, and never more than that.
#include <doctest/doctest.h>

#include <random>
#include <tyto/tyto.hpp>

#include "tests/flow/damaged_files.hpp"

namespace files_test {

using tyto::DType;
using tyto::Graph;
using Tensor = tyto::Tensor<tyto::Lazy>;
using tyto::flow_files::damaged;
using tyto::flow_files::nested;
using tyto::flow_files::trained;

/// Whether the bytes were read; anything but a refusal by name fails the test.
bool is_read(const std::vector<std::byte>& bytes) {
  try {
    (void)Graph::from_bytes(bytes).text();
    return true;
  } catch (const tyto::IoError&) {
    return false;
  }
}

TEST_CASE("graph files with regions say that they are of version 2, others that they are of version 1") {
  const Tensor p = Tensor::placeholder({3}, DType::f32, "p");
  CHECK(std::to_integer<int>(nested()[8]) == 2);
  CHECK(std::to_integer<int>(Graph({.inputs = {p}, .outputs = {p * 2}}).to_bytes()[8]) == 1);
}

TEST_CASE("mutated graph files with nested regions are read or refused") {
  std::mt19937_64 random(1);
  for (const std::vector<std::byte>& whole : {nested(), trained()}) {
    REQUIRE(is_read(whole));
    std::size_t read = 0;
    for (int trial = 0; trial < 6000; ++trial) read += is_read(damaged(whole, random));
    CHECK(read > 0);
    CHECK(read < 6000);
  }
}

TEST_CASE("regions nest no deeper in a file than a reader follows") {
  const auto deep = [](int levels) {
    const Tensor p = Tensor::placeholder({2}, DType::f32, "p");
    std::function<Tensor(const Tensor&, int)> inside = [&](const Tensor& x, int level) -> Tensor {
      if (level == 0) return x * 2;
      return fori_loop(0, 1, x, [&](const Tensor&, const Tensor& c) { return inside(c, level - 1); });
    };
    return Graph({.inputs = {p}, .outputs = {inside(p, levels)}}).to_bytes();
  };
  CHECK(is_read(deep(32)));
  CHECK_THROWS_WITH_AS(Graph::from_bytes(deep(33), "deep"), doctest::Contains("more than 32 levels of nesting"),
                       tyto::IoError);
}

}  // namespace files_test
