// SPDX-License-Identifier: MIT
// Graphs of many nodes, readers and states: the traversals of them neither recurse nor grow faster than the graph.
#include <doctest/doctest.h>

#include <cmath>
#include <tyto/tyto.hpp>
#include <vector>

namespace tyto {
namespace {

using L = Tensor<Lazy>;

std::vector<float> values(const L& x) { return x.to_vector<float>(); }

}  // namespace

TEST_CASE("a chain of a hundred thousand nodes is optimised, planned and run") {
  constexpr int length = 100'000;
  const L x = L::placeholder({2});
  L y = x;
  for (int i = 0; i < length; ++i) y = abs(y) + x;
  Graph graph{{.inputs = {x}, .outputs = {y}}};
  graph.set(x, L{1.0F, 2.0F});
  graph.run();
  // Sums of integers below 2^24 are exact.
  CHECK(values(graph.output(0)) == std::vector<float>{length + 1.0F, 2 * (length + 1.0F)});
  CHECK(graph.plan().height <= 2 * 64);
}

TEST_CASE("the gradient of a chain of twenty-five thousand products goes all the way back") {
  constexpr int length = 25'000;
  const L x = L::placeholder({}, DType::f64);
  const L gradient = grad([&](const L& v) {
    L y = v;
    for (int i = 0; i < length; ++i) y = y * v;
    return y;
  })(x);
  Graph graph{{.inputs = {x}, .outputs = {gradient}}};
  graph.set(x, L::full({}, 1.0, DType::f64));
  graph.run();
  CHECK(graph.output(0).item<double>() == length + 1.0);
}

TEST_CASE("forty thousand readers of one tensor differ by their numbers only, and are joined") {
  constexpr int count = 40'000;
  const L x = L::placeholder({1});
  std::vector<L> parts;
  for (int i = 0; i < count; ++i) parts.push_back(x * static_cast<double>(i));
  Graph graph{{.inputs = {x}, .outputs = {concat<Lazy>(parts, 0)}}};
  graph.set(x, L{3.0F});
  graph.run();
  const std::vector<float> joined = values(graph.output(0));
  REQUIRE(joined.size() == count);
  bool right = true;
  for (int i = 0; i < count; ++i) right = right && joined[static_cast<std::size_t>(i)] == 3.0F * static_cast<float>(i);
  CHECK(right);
}

TEST_CASE("eight hundred pairs of states are updated in place, each by its own rule") {
  constexpr int count = 800;
  const L x = L::placeholder({4});
  GraphSpec spec{.inputs = {x}};
  std::vector<L> weights;
  std::vector<L> totals;
  for (int i = 0; i < count; ++i) {
    weights.push_back(L::variable(L::full({4}, static_cast<float>(i))));
    totals.push_back(L::variable(L::zeros({4})));
    const L sum = totals.back() + x * x;
    spec.updates.push_back({totals.back(), sum});
    spec.updates.push_back({weights.back(), weights.back() - x / sqrt(sum)});
  }
  Graph graph(spec);
  graph.set(x, L::full({4}, 2.0F));
  graph.run();
  graph.run();
  for (const int i : {0, 1, 399, 799}) {
    CAPTURE(i);
    const auto at = static_cast<std::size_t>(i);
    CHECK(values(totals[at])[3] == 8.0F);
    // 2 / sqrt(4) in the first run, 2 / sqrt(8) in the second.
    CHECK(values(weights[at])[0] == doctest::Approx(static_cast<float>(i) - 1.0F - 2.0F / std::sqrt(8.0F)));
  }
  // Nothing of a state's size is held beside the states for long.
  CHECK(graph.plan().height <= 16 * 64);
}

TEST_CASE("a vector written element by element takes twenty thousand writes in its own memory") {
  constexpr std::int64_t length = 20'000;
  // Each value is computed, so that it could be put into its place or written over it.
  const auto written = [](const L& from) {
    L x = from * 1.0;
    for (std::int64_t i = 0; i < length; ++i) x(i) = from(length - 1 - i) * 2.0;
    return x;
  };
  std::vector<float> expected;
  for (std::int64_t i = 0; i < length; ++i) expected.push_back(2.0F * static_cast<float>(length - 1 - i));
  const L numbers = L::arange(length).astype(DType::f32);
  CHECK(values(written(numbers)) == expected);
  auto compiled = compile(written);
  CHECK(values(compiled(numbers)) == expected);
  CHECK(compiled.plan().height <= 4 * length * 4);
}

TEST_CASE("parts that are read again when all writes are done are not written over") {
  constexpr std::int64_t length = 5'000;
  auto compiled = compile([](const L& from) {
    L x = from * 1.0;
    L total = from(0) * 0.0;
    std::vector<L> parts;
    for (std::int64_t i = 0; i < length; ++i) {
      parts.push_back(from(i) + 1.0);
      x(i) = parts.back();
    }
    x(0) = 0.0;
    for (const L& part : parts) total = total + part;
    return std::pair(x.sum(), total);
  });
  const auto [sum, total] = compiled(L::zeros({length}));
  CHECK(sum.item<float>() == static_cast<float>(length - 1));
  CHECK(total.item<float>() == static_cast<float>(length));
}

}  // namespace tyto
