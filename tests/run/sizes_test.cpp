// SPDX-License-Identifier: MIT
// One compiled program at several sizes: each is planned, and gives eager mode's numbers.
#include <doctest/doctest.h>

#include <tyto/tyto.hpp>
#include <vector>

namespace tyto {
namespace {

struct Network {
  Tensor<Lazy> first = Tensor<Lazy>::variable(Tensor<Lazy>::normal({24, 32}, {.stddev = 0.3, .key = Key{1}}));
  Tensor<Lazy> second = Tensor<Lazy>::variable(Tensor<Lazy>::normal({32, 5}, {.stddev = 0.3, .key = Key{2}}));
};

template <class M>
Tensor<M> loss(const Tensor<M>& x, const Tensor<M>& first, const Tensor<M>& second) {
  const Tensor<M> hidden = tanh(matmul(x, first));
  const Tensor<M> scores = softmax(matmul(hidden * hidden + hidden, second));
  return sum(scores * log(scores + 1e-3)) + sum(exp(-hidden));
}

Tensor<Eager> batch(std::int64_t rows, int seed) {
  return Tensor<Eager>::normal({rows, 24}, {.key = Key{static_cast<std::uint64_t>(seed)}});
}

template <class M>
Tensor<M> in_mode(const Tensor<Eager>& x) {
  return Tensor<M>::from(x.template to_vector<float>(), x.shape());
}

// Values at many sizes alive at once, so that where blocks lie is not trivial.
const CompileOptions checked{.check_plan = true, .poison = true, .passes = "-fuse"};

}  // namespace

TEST_CASE("a smaller last batch has a plan of its own, with eager numbers") {
  const Network network;
  const auto first = Tensor<Eager>::from(network.first.to_vector<float>(), {24, 32});
  const auto second = Tensor<Eager>::from(network.second.to_vector<float>(), {32, 5});
  auto step = compile(
      [&](Tensor<Lazy> x) {
        return grad([&](Tensor<Lazy> v) { return loss<Lazy>(v, network.first, network.second); })(x);
      },
      checked);
  for (const std::int64_t rows : {200, 48, 3, 40, 200, 31}) {
    CAPTURE(rows);
    const Tensor<Eager> x = batch(rows, static_cast<int>(rows));
    const std::vector<float> lazy = step(in_mode<Lazy>(x)).to_vector<float>();
    const std::vector<float> eager =
        grad([&](Tensor<Eager> v) { return loss<Eager>(v, first, second); })(x).to_vector<float>();
    REQUIRE(lazy.size() == eager.size());
    for (std::size_t i = 0; i < lazy.size(); ++i) CHECK(lazy[i] == doctest::Approx(eager[i]).epsilon(1e-4));
    CHECK(step.plan().height <= step.plan().bound + step.plan().bound / 100);
  }
}

TEST_CASE("sequences of other lengths give eager numbers") {
  auto attention = compile(
      [](Tensor<Lazy> x) {
        const Tensor<Lazy> weights = softmax(matmul(x, transpose(x)) / 4.0);
        return matmul(weights, x) + x;
      },
      checked);
  for (const std::int64_t length : {48, 32, 16}) {
    CAPTURE(length);
    const Tensor<Eager> x = batch(length, 7);
    const Tensor<Eager> expected = matmul(softmax(matmul(x, transpose(x)) / 4.0), x) + x;
    const std::vector<float> lazy = attention(in_mode<Lazy>(x)).to_vector<float>();
    const std::vector<float> eager = expected.to_vector<float>();
    for (std::size_t i = 0; i < lazy.size(); ++i) CHECK(lazy[i] == doctest::Approx(eager[i]).epsilon(1e-4));
  }
}

TEST_CASE("traces of many sizes are kept in a bounded list") {
  int traced = 0;
  auto f = compile([&](Tensor<Lazy> x) {
    ++traced;
    return exp(x) + 1.0;
  });
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t rows = 1; rows <= 20; ++rows) CHECK(f(Tensor<Lazy>::zeros({rows})).shape() == Shape{rows});
  }
  // Twenty sizes do not fit into the sixteen that are kept: in turn each pushes out the one that is asked for next.
  CHECK(traced == 40);
  (void)f(Tensor<Lazy>::zeros({20}));
  CHECK(traced == 40);
}

}  // namespace tyto
