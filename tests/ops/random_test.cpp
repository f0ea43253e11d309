// SPDX-License-Identifier: MIT
// Random draws: what their rules refuse, and choice, categorical and dropout_mask made of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <type_traits>

#include "tyto/device.hpp"
#include "tyto/graph.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

using namespace tyto;

namespace {

using Places = std::vector<std::int64_t>;

constexpr DrawOptions fixed{Key{7, 0}};

Places counts_of(const Places& drawn, std::size_t classes) {
  Places counts(classes, 0);
  for (const std::int64_t one : drawn) ++counts.at(static_cast<std::size_t>(one));
  return counts;
}

/// Draws that are the same bit for bit on all devices and processors, in one list, as f64, long enough for several
/// threads.
template <class M>
Tensor<M> exact_draws(const Key& key) {
  const Shape shape{40'000};
  const std::vector<Tensor<M>> draws = {
      Tensor<M>::uniform(shape, {.low = -0.1, .high = 0.2, .key = key}),
      Tensor<M>::uniform(shape, {.low = -0.1, .high = 0.2, .dtype = DType::f64, .key = key}),
      Tensor<M>::bernoulli(shape, {.probability = 0.3, .key = key}),
      Tensor<M>::integers(shape, {.low = -5, .high = 70, .key = key}),
      Tensor<M>::permutation(40'000, {key}),
      choice(Tensor<M>::arange(100), 40'000, true, {}, {key}),
      dropout_mask(Tensor<M>::zeros(shape), 0.25, {key}),
  };
  std::vector<Tensor<M>> wide;
  for (const Tensor<M>& draw : draws) wide.push_back(cast(draw, DType::f64));
  return stack(wide);
}

/// Draws made of logarithms, cosines and error functions, whose last digits depend on whether the processor fuses
/// products and sums. Most lie within 20 of zero.
template <class M>
Tensor<M> rounded_draws(const Key& key) {
  const Shape shape{40'000};
  return stack({Tensor<M>::normal(shape, {.mean = 2, .stddev = 3, .key = key}),
                Tensor<M>::exponential(shape, {.rate = 4, .key = key}),
                Tensor<M>::truncated_normal(shape, {.mean = 1, .key = key}),
                Tensor<M>::gamma(shape, {.shape = 2.5, .key = key})});
}

template <class M>
Tensor<M> every_distribution(const Key& key) {
  return concat({exact_draws<M>(key), cast(rounded_draws<M>(key), DType::f64)}, 0);
}

struct Threads {
  explicit Threads(int count) : before(threads()) { threads(count); }
  ~Threads() { threads(before); }
  int before;
};

}  // namespace

TEST_CASE("every distribution draws the same in both modes, compiled or not, on any number of threads") {
  const Key key{2024, 5};
  const std::vector<double> first = every_distribution<Eager>(key).to_vector<double>();
  for (const int count : {1, 2, 3, 8}) {
    CAPTURE(count);
    const Threads scope(count);
    CHECK(every_distribution<Eager>(key).to_vector<double>() == first);
    CHECK(every_distribution<Lazy>(key).to_vector<double>() == first);
    auto drawn =
        compile([&](const Tensor<Lazy>& zero) { return every_distribution<Lazy>(key) + cast(zero, DType::f64); });
    CHECK(drawn(Tensor<Lazy>::full({}, 0.0)).to_vector<double>() == first);
  }
}

TEST_CASE("every distribution draws the same on every device") {
  const Key key{7, 11};
  const std::vector<double> exact = exact_draws<Eager>(key).to_vector<double>();
  const std::vector<float> rounded = rounded_draws<Eager>(key).to_vector<float>();
  for (const DeviceInfo& device : devices()) {
    CAPTURE(device.name);
    const DeviceScope scope(device.name);
    CHECK(exact_draws<Eager>(key).to_vector<double>() == exact);
    CHECK(exact_draws<Lazy>(key).to_vector<double>() == exact);
    for (const std::vector<float>& there :
         {rounded_draws<Eager>(key).to_vector<float>(), rounded_draws<Lazy>(key).to_vector<float>()}) {
      float distance = 0;
      for (std::size_t i = 0; i < there.size(); ++i) distance = std::max(distance, std::abs(there[i] - rounded[i]));
      CHECK(distance < 1e-5f);
    }
  }
}

TEST_CASE("between limits, the product and the sum are rounded one after the other on every processor") {
  const Key key{3, 4};
  const double low = -0.1, high = 0.2;
  const std::vector<double> unit =
      Tensor<Eager>::uniform({5'000}, {.dtype = DType::f64, .key = key}).to_vector<double>();
  const std::vector<double> drawn =
      Tensor<Eager>::uniform({5'000}, {.low = low, .high = high, .dtype = DType::f64, .key = key}).to_vector<double>();
  const volatile double range = high - low;
  for (std::size_t i = 0; i < unit.size(); ++i) {
    const volatile double product = range * unit[i];
    CHECK(drawn[i] == low + product);
  }
}

TEST_CASE("both modes draw the same") {
  const Places eager = choice(Tensor<Eager>::arange(100), 20, true, {}, fixed).to_vector<std::int64_t>();
  const Places lazy = choice(Tensor<Lazy>::arange(100), 20, true, {}, fixed).to_vector<std::int64_t>();
  CHECK(eager == lazy);
  seed(3);
  const Places first = choice(Tensor<Eager>::arange(100), 20).to_vector<std::int64_t>();
  const Places second = choice(Tensor<Eager>::arange(100), 20).to_vector<std::int64_t>();
  CHECK(first != second);
  seed(3);
  CHECK(choice(Tensor<Lazy>::arange(100), 20).to_vector<std::int64_t>() == first);
}

TEST_CASE_TEMPLATE("choice without replacement draws nothing twice", M, Eager, Lazy) {
  const Tensor<M> x = Tensor<M>::arange(10);
  const Places all_of_it = choice(x, 10, false, {}, fixed).template to_vector<std::int64_t>();
  CHECK(std::set<std::int64_t>(all_of_it.begin(), all_of_it.end()).size() == 10);
  const Places weighted = choice(x, 10, false, Tensor<M>::ones({10}), fixed).template to_vector<std::int64_t>();
  CHECK(std::set<std::int64_t>(weighted.begin(), weighted.end()).size() == 10);
  CHECK(choice(Tensor<M>::zeros({4, 3}), 2, false, {}, fixed).shape() == Shape{2, 3});
}

TEST_CASE_TEMPLATE("choice draws in proportion to the weights, and never with weight zero", M, Eager, Lazy) {
  const Tensor<M> x = Tensor<M>::arange(4), weights{0.0, 3.0, 1.0, 0.0};
  const Places counts = counts_of(choice(x, 4000, true, weights, fixed).template to_vector<std::int64_t>(), 4);
  CHECK(counts[0] == 0);
  CHECK(counts[3] == 0);
  CHECK(counts[1] > 2850);  // 3000 expected, five standard deviations are 137
  CHECK(counts[1] < 3150);
  const Places two = choice(x, 2, false, weights, fixed).template to_vector<std::int64_t>();
  CHECK(std::set<std::int64_t>(two.begin(), two.end()) == std::set<std::int64_t>{1, 2});
}

TEST_CASE_TEMPLATE("categorical draws classes by softmax of the logits, row by row", M, Eager, Lazy) {
  const float never = -std::numeric_limits<float>::infinity();
  const Tensor<M> logits{{0.0f, never, never}, {never, 1.0f, 1.0f}};
  const Tensor<M> drawn = categorical(logits, 4000, fixed);
  CHECK(drawn.shape() == Shape{2, 4000});
  const Places classes = drawn.template to_vector<std::int64_t>();
  CHECK(counts_of(Places(classes.begin(), classes.begin() + 4000), 3) == Places{4000, 0, 0});
  const Places second = counts_of(Places(classes.begin() + 4000, classes.end()), 3);
  CHECK(second[0] == 0);
  CHECK(second[1] > 1840);  // 2000 expected, five standard deviations are 158
  CHECK(second[1] < 2160);
}

TEST_CASE_TEMPLATE("a dropout mask keeps the mean", M, Eager, Lazy) {
  const Tensor<M> mask = dropout_mask(Tensor<M>::zeros({4000}), 0.75, fixed);
  const std::vector<float> elements = mask.template to_vector<float>();
  const auto kept = std::count(elements.begin(), elements.end(), 4.0f);
  CHECK(kept + std::count(elements.begin(), elements.end(), 0.0f) == 4000);
  CHECK(kept > 860);  // 1000 expected, five standard deviations are 137
  CHECK(kept < 1140);
  CHECK(dropout_mask(Tensor<M>::zeros({2}), 0).template to_vector<float>() == std::vector<float>{1, 1});
  CHECK(dropout_mask(Tensor<M>::zeros({2}), 1).template to_vector<float>() == std::vector<float>{0, 0});
  CHECK(dropout_mask(Tensor<M>::zeros({2}, DType::f16), 0.5).dtype() == DType::f16);
}

TEST_CASE_TEMPLATE("rows of logits without a largest number are refused, or drawn as -1", M, Eager, Lazy) {
  const double none = std::nan(""), ever = std::numeric_limits<double>::infinity();
  const std::pair<std::vector<double>, const char*> rows[] = {
      {{none, 0}, "nan"}, {{none, none}, "nan"}, {{ever, 0}, "inf"}, {{-ever, -ever}, "-inf"}};
  for (const auto& [row, shown] : rows) {
    const Tensor<M> logits{{0.0, 1.0}, {row[0], row[1]}};
    if constexpr (std::is_same_v<M, Eager>) {
      const std::string message = std::string("categorical: the largest logit of a row must be finite, not ") + shown;
      CHECK_THROWS_WITH_AS(categorical(logits, 3), message.c_str(), ValueError);
    } else {
      const Tensor<M> drawn = categorical(logits, 3);
      CHECK(tyto::all(drawn(0) >= 0).template item<bool>());
      CHECK(drawn(1).template to_vector<std::int64_t>() == std::vector<std::int64_t>{-1, -1, -1});
    }
  }
  CHECK(categorical(Tensor<M>{-ever, 0.0}, 2).template to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 1});
}

TEST_CASE_TEMPLATE("choice refuses weights that are negative, not finite or all zero", M, Eager, Lazy) {
  const double none = std::nan(""), ever = std::numeric_limits<double>::infinity();
  for (const Tensor<M>& weights :
       {Tensor<M>{0.0, 0.0, 0.0}, Tensor<M>{1.0, -0.5, 1.0}, Tensor<M>{1.0, none, 1.0}, Tensor<M>{1.0, ever, 1.0}}) {
    for (const bool replace : {false, true}) {
      const auto chosen = [&] { return choice(Tensor<M>::arange(3), 2, replace, weights); };
      if constexpr (std::is_same_v<M, Eager>) {
        CHECK_THROWS_WITH_AS(chosen(), "choice: weights must be 0 or more, their sum above 0 and finite", ValueError);
      } else {
        CHECK_THROWS_AS(chosen().template to_vector<std::int64_t>(), IndexError);
      }
    }
  }
}

TEST_CASE_TEMPLATE("errors of choice and categorical state the reason", M, Eager, Lazy) {
  const Tensor<M> x = Tensor<M>::zeros({3, 2});
  CHECK_THROWS_WITH_AS(choice(x, 4, false), "choice: 4 of 3 elements cannot be drawn without putting back", ValueError);
  CHECK_THROWS_WITH_AS(choice(x, -1), "choice: count -1 is negative", ValueError);
  CHECK_THROWS_WITH_AS(choice(Tensor<M>::zeros({0, 2}), 1),
                       "choice: nothing to choose from, the first axis of shape (0,2) is empty", ValueError);
  CHECK_THROWS_WITH_AS(choice(x, 1, true, Tensor<M>{0.5, 0.5}),
                       "choice: weights of shape (2,) for 3 elements must have shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(categorical(Tensor<M>::full({}, 1.0), 1),
                       "categorical: logits need a class axis, given a 0-d tensor", ShapeError);
  CHECK_THROWS_WITH_AS(dropout_mask(x, 1.5), "dropout_mask: rate 1.5 is outside [0, 1]", ValueError);
  CHECK_THROWS_WITH_AS(dropout_mask(Tensor<M>{1, 2}, 0.5), "dropout_mask: a floating type is needed, not i64",
                       TypeError);
  CHECK_THROWS_WITH_AS(Tensor<M>::uniform({-1}), "random_uniform: shape (-1,) has a negative length", ShapeError);
}

TEST_CASE_TEMPLATE("a uniform draw of halves never is the upper end", M, tyto::Eager, tyto::Lazy) {
  const tyto::Key key{11};
  for (const tyto::DType type : {tyto::DType::f16, tyto::DType::bf16}) {
    const Tensor<M> unit = Tensor<M>::uniform({200000}, {.dtype = type, .key = key});
    CHECK(tyto::all(unit < 1.0).template item<bool>());
    CHECK(tyto::all(unit >= 0.0).template item<bool>());
    CHECK(std::abs(unit.astype(tyto::DType::f64).mean().template item<double>() - 0.5) < 0.003);
    const Tensor<M> below_zero = Tensor<M>::uniform({200000}, {.low = -3, .high = -1, .dtype = type, .key = key});
    CHECK(tyto::all(below_zero < -1.0).template item<bool>());
  }
  // The largest half below one, 1 - 2^-11, does come up.
  CHECK(max(Tensor<M>::uniform({200000}, {.dtype = tyto::DType::f16, .key = key}).astype(tyto::DType::f64))
            .template item<double>() == 1 - 0x1p-11);
}

TEST_CASE("bounds of integers lie within 2^53") {
  using T = Tensor<Eager>;
  constexpr std::int64_t most = std::int64_t(1) << 53;
  const T drawn = T::integers({1000}, {.low = most - 2, .high = most});
  CHECK(min(drawn).item<std::int64_t>() == most - 2);
  CHECK(max(drawn).item<std::int64_t>() == most - 1);
  CHECK_THROWS_WITH_AS((void)T::integers({3}, {.low = 0, .high = most + 2}),
                       "integers: bounds 0 and 9007199254740994 must lie within 2^53", ValueError);
  CHECK_THROWS_WITH_AS((void)T::integers({3}, {.low = -most - 1, .high = 0}),
                       "integers: bounds -9007199254740993 and 0 must lie within 2^53", ValueError);
}
