// SPDX-License-Identifier: MIT
// Gradients accumulated over several batches on each process, and averaged once: what one process computes of the
// whole.
#include <doctest/doctest.h>

#include <tyto/distributed.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/distributed/launched.hpp"
#include "tests/distributed/training_series.hpp"

namespace distributed_tests {

namespace {

namespace d = tyto::distributed;
namespace nn = tyto::nn;
using tyto::DType;

constexpr std::int64_t rows = 24, steps = 5;

template <class T>
T drawn(const tyto::Shape& shape, std::uint64_t number) {
  return T::normal(shape, {.dtype = DType::f64, .key = tyto::Key{13, 0}.split(number)});
}

template <class T>
struct Perceptron {
  T first = T::variable(drawn<T>({3, 8}, 3), "first"), last = T::variable(drawn<T>({8, 1}, 4), "last");
  nn::Descent descent = nn::sgd({.rate = 0.05, .momentum = 0.9});

  std::vector<T> parameters() const { return {first, last}; }
  auto objective() const {
    return [this](T x, T t) { return mean(square(matmul(tanh(matmul(x, first)), last) - t)); };
  }
};

/// Steps of one process on all rows at once.
template <class T>
std::vector<double> of_whole_batches() {
  Perceptron<T> model;
  auto step = tyto::compile([&](T x, T t) {
    auto [loss, gradients] = tyto::value_and_grad(model.objective(), model.parameters())(x, t);
    model.descent.update(model.parameters(), gradients);
    return loss;
  });
  for (std::int64_t i = 0; i < steps; ++i) (void)step(drawn<T>({rows, 3}, 1), drawn<T>({rows, 1}, 2));
  return values_of(model.parameters());
}

/// The same rows in parts: for each process, and of those for each call of `add`.
template <class T>
std::vector<double> of_accumulated(const d::Group& group, std::int64_t batches) {
  Perceptron<T> model;
  std::vector<T> sums;
  for (const T& p : model.parameters()) sums.push_back(T::persistent(T::zeros(p.shape(), DType::f64), "sum"));
  auto add = tyto::compile([&](T x, T t) {
    auto [loss, gradients] = tyto::value_and_grad(model.objective(), model.parameters())(x, t);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += gradients[i];
    return loss;
  });
  auto step = tyto::compile([&](T count) {
    std::vector<T> means;
    for (const T& sum : sums) means.push_back(sum / count);
    const std::vector<T> averages = d::average(means, rows / group.size());
    model.descent.update(model.parameters(), averages);
    for (T& sum : sums) assign(sum, T::zeros(sum.shape(), DType::f64));
    return averages[0];
  });
  const T x = drawn<T>({rows, 3}, 1), t = drawn<T>({rows, 1}, 2);
  const std::int64_t part = rows / group.size(), length = part / batches;
  for (std::int64_t i = 0; i < steps; ++i) {
    for (std::int64_t k = 0; k < batches; ++k) {
      const std::int64_t from = group.rank() * part + k * length;
      (void)add(x(tyto::slice(from, from + length)), t(tyto::slice(from, from + length)));
    }
    (void)step(T(static_cast<double>(batches)).astype(DType::f64));
  }
  if constexpr (std::is_same_v<typename T::mode, tyto::Lazy>) {
    CHECK(add.report().collectives.empty());
    CHECK(step.report().collectives.empty() == (group.size() == 1));
  }
  return values_of(model.parameters());
}

}  // namespace

TEST_CASE("rank: accumulates" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  const std::vector<double> expected = of_whole_batches<tyto::Tensor<tyto::Eager>>();
  for (const std::int64_t batches : {1, 3}) {
    CAPTURE(batches);
    CHECK(difference(expected, of_accumulated<tyto::Tensor<tyto::Lazy>>(group, batches)) < 1e-12);
    CHECK(difference(expected, of_accumulated<tyto::Tensor<tyto::Eager>>(group, batches)) < 1e-12);
  }
  group.barrier();
}

TEST_CASE("gradients accumulated over batches without messages and averaged once are those of the whole batch") {
  with_each_mpi([](const std::string& mpi) {
    for (const int processes : {1, 2, 4}) {
      CAPTURE(processes);
      const Ran ran = run_case(mpi, processes, "rank: accumulates");
      CHECK_MESSAGE(ran.status == 0, ran.output);
    }
  });
}

}  // namespace distributed_tests
