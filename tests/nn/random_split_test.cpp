// SPDX-License-Identifier: MIT
// Parts of a data set: disjoint, complete, of the sizes asked for, the same for the same seed.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <tyto/nn/batches.hpp>
#include <tyto/nn/random_split.hpp>

namespace tyto::nn {
namespace {

template <class T>
ArraySamples numbered(std::int64_t count) {
  return ArraySamples(Tensor<Any>(T::arange(count).value()), Tensor<Any>((T::arange(count) * 2).value()));
}

std::vector<std::int64_t> sizes(const std::vector<Subset>& parts) {
  std::vector<std::int64_t> all;
  for (const Subset& part : parts) all.push_back(part.count());
  return all;
}

}  // namespace

TEST_CASE_TEMPLATE("a random split has each sample once, and Batches reads its parts", T, Tensor<Eager>, Tensor<Lazy>) {
  std::vector<std::int64_t> seen;
  for (const Subset& part : random_split(numbered<T>(10), {7, 0, 3})) {
    if (part.count() == 0) continue;
    Batches<T> batches(part, {.size = 2});
    for (const auto& [x, t] : batches) {
      const auto inputs = x.template to_vector<std::int64_t>();
      const auto targets = t.template to_vector<std::int64_t>();
      for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(targets[i] == 2 * inputs[i]);
      seen.insert(seen.end(), inputs.begin(), inputs.end());
    }
  }
  std::sort(seen.begin(), seen.end());
  CHECK(seen == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a random split takes counts or fractions, what is left going to the first parts") {
  const auto data = std::make_shared<const ArraySamples>(numbered<Tensor<Eager>>(100));
  const std::shared_ptr<const Samples> samples = data;
  using Sizes = std::vector<std::int64_t>;
  CHECK(sizes(random_split(samples, {80, 20})) == Sizes{80, 20});
  CHECK(sizes(random_split(samples, {0.29, 0.71})) == Sizes{29, 71});
  CHECK(sizes(random_split(samples, {1. / 3, 1. / 3, 1. / 3})) == Sizes{34, 33, 33});
  CHECK(sizes(random_split(samples, {0, 1})) == Sizes{0, 100});
  const Tensor<Eager> inputs = Tensor<Eager>::arange(100);
  const std::vector<Subset> parts = random_split(inputs, inputs * 2, {0.3, 0.7}, 5);
  CHECK(parts[1].numbers() == random_split(samples, {0.3, 0.7}, 5)[1].numbers());
  Batches<Tensor<Eager>> batches(parts[1], {.size = 70, .shuffle = false});
  const auto [x, t] = *batches.next();
  CHECK(x.to_vector<std::int64_t>() == parts[1].numbers());
  CHECK(t.to_vector<std::int64_t>() == (x * 2).to_vector<std::int64_t>());
  CHECK_THROWS_AS(random_split(samples, {0.5, 0.4}), ValueError);
  CHECK_THROWS_AS(random_split(samples, {80, 30}), ValueError);
  CHECK_THROWS_AS(random_split(samples, {-1, 2}), ValueError);
  CHECK_THROWS_AS(random_split(samples, {}), ValueError);
}

TEST_CASE("a random split depends on its seed alone") {
  const auto first = [](std::uint64_t seed) {
    return random_split(numbered<Tensor<Eager>>(100), {0.5, 0.5}, seed)[0].numbers();
  };
  CHECK(first(1) == first(1));
  CHECK(first(1) != first(2));
  std::vector<std::int64_t> sorted = first(1);
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted != first(1));
}

}  // namespace tyto::nn
