// SPDX-License-Identifier: MIT
// Random numbers written as ONNX: those of a key are the same, others are drawn anew and follow the same distribution.
#include <cmath>

#include "tests/onnx/written.hpp"

namespace tyto::onnx_tests::random_numbers {

namespace {

using L = Tensor<Lazy>;
using E = Tensor<Eager>;

struct Moments {
  double mean, deviation, least, largest;
};
Moments moments_of(const L& y) {
  const E x = cast(E::from_bytes(y.bytes().data(), y.size(), y.shape(), y.dtype()), DType::f64);
  return {mean(x).item<double>(), std::sqrt(var(x).item<double>()), min(x).item<double>(), max(x).item<double>()};
}

}  // namespace

TEST_CASE("numbers that a key settles come back from ONNX as they were") {
  const L x = L::placeholder({2}, DType::f32, "x");
  const Key key{7, 3};
  const std::vector<L> drawn = {L::uniform({5}, {.low = -2, .high = 3, .key = key}),
                                L::normal({5}, {.mean = 1, .stddev = 2, .dtype = DType::f64, .key = key}),
                                L::bernoulli({5}, {.probability = 0.3, .key = key}),
                                L::integers({5}, {.low = -3, .high = 9, .key = key}),
                                L::truncated_normal({5}, {.key = key}),
                                L::gamma({5}, {.shape = 2, .key = key}),
                                L::exponential({5}, {.rate = 0.5, .key = key}),
                                L::permutation(6, {.key = key}),
                                x * 2.0};
  check_written("drawn_by_key", x, E{1.0, 2.0}, drawn, {0, 0, 0});
}

TEST_CASE("numbers of the sequence that goes on are drawn by ONNX, other ones in each run") {
  constexpr std::int64_t count = 40'000;
  const L x = L::placeholder({count}, DType::f32, "x");
  const Graph graph{
      {.inputs = {x},
       .outputs = {L::uniform({count}, {.low = -2, .high = 4}), L::normal({count}, {.mean = 1, .stddev = 3}),
                   x * cast(L::bernoulli({count}, {.probability = 0.25}), DType::f32),
                   L::integers({count}, {.low = -3, .high = 9, .dtype = DType::i32}),
                   L::exponential({count}, {.rate = 0.5}), L::permutation(count)}}};
  const testing::TemporaryFolder folder;
  write_onnx(folder / "m.onnx", graph);
  OnnxModel<L> model = read_onnx<L>(folder / "m.onnx");
  CHECK(model.inputs().size() == 1);
  const NamedList<L> one = model({{"x", L::ones({count})}}), other = model({{"x", L::ones({count})}});
  // Mean and deviation as the distribution has them, within six deviations of the mean of so many numbers.
  const Moments expected[] = {
      {1, std::sqrt(3.0), -2, 4},          {1, 3, -20, 20}, {0.25, std::sqrt(3.0) / 4, 0, 1},
      {2.5, std::sqrt(143.0 / 12), -3, 8}, {2, 2, 0, 40},   {(count - 1) / 2.0, count / std::sqrt(12.0), 0, count - 1}};
  for (std::size_t i = 0; i < one.size(); ++i) {
    CAPTURE(i);
    const Moments found = moments_of(one[i].value), want = expected[i];
    CHECK(std::abs(found.mean - want.mean) < 0.03 * want.deviation);
    CHECK(std::abs(found.deviation / want.deviation - 1) < 0.05);
    CHECK(found.least >= want.least);
    CHECK(found.largest <= want.largest);
    CHECK(difference(Tensor<Any>::from_bytes(one[i].value.bytes().data(), count, {count}, one[i].value.dtype()),
                     Tensor<Any>::from_bytes(other[i].value.bytes().data(), count, {count}, other[i].value.dtype()), 0,
                     0) != "");
  }
  CHECK(moments_of(one[3].value).least == -3);
  CHECK(moments_of(one[3].value).largest == 8);
  CHECK(moments_of(one[5].value).largest == count - 1);
}

TEST_CASE("a distribution that ONNX does not draw is refused, and what would be right is said") {
  const testing::TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(
      write_onnx(folder / "m.onnx", Graph{{.inputs = {}, .outputs = {L::gamma({3}, {.shape = 2})}}}),
      "write_onnx: random_gamma: ONNX draws uniform and normal numbers, not these; of a key of their own (`.key = "
      "Key{1}`) the numbers are written",
      GraphError);
}

}  // namespace tyto::onnx_tests::random_numbers
