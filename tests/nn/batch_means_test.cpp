// SPDX-License-Identifier: MIT
// Means of metrics over batches equal those over all samples, however unevenly these are cut.
#include <doctest/doctest.h>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"

namespace tyto::nn {
namespace {

/// Samples i with targets 2 i.
template <class M>
Batches<Tensor<M>> numbered(std::int64_t count, const BatchOptions& options) {
  const Tensor<M> x = Tensor<M>::arange(count).astype(DType::f32);
  return {x, x * 2, options};
}

}  // namespace

BOTH_MODES("a mean over batches is that over the samples, also where the last batch is shorter") {
  using T = Tensor<Mode>;
  const auto of_inputs = [](const T& x, const T&) { return mean(x); };
  // Batches of 4, 4 and 2: their means' mean would be 31 / 6.
  for (const bool shuffle : {false, true}) {
    auto batches = numbered<Mode>(10, {.size = 4, .shuffle = shuffle, .seed = 5});
    CHECK(mean_over_batches(of_inputs, batches) == 4.5);
    CHECK(mean_over_batches(of_inputs, batches) == 4.5);  // the next epoch
    CHECK(batches.position().epoch == 2);
  }
  auto dropped = numbered<Mode>(10, {.size = 4, .shuffle = false, .drop_last = true});
  CHECK(mean_over_batches(of_inputs, dropped) == 3.5);
  auto begun = numbered<Mode>(10, {.size = 4, .shuffle = false});
  (void)begun.next();
  CHECK(mean_over_batches(of_inputs, begun) == (4 + 5 + 6 + 7 + 8 + 9) / 6.0);
  for (int i = 0; i < 3; ++i) (void)begun.next();
  CHECK(begun.batches_left() == 0);  // but the epoch has not ended
  CHECK(mean_over_batches(of_inputs, begun) == 4.5);
  auto one = numbered<Mode>(1, {.size = 4});
  CHECK(mean_over_batches(of_inputs, one) == 0);
}

BOTH_MODES("a mean over batches takes compiled functions, numbers and metrics by name") {
  using T = Tensor<Mode>;
  auto batches = numbered<Mode>(5, {.size = 2, .shuffle = false});
  auto loss = compile([](T x, T t) { return mean(square(t - x)); });
  CHECK(mean_over_batches(loss, batches) == 6);  // (0 + 1 + 4 + 9 + 16) / 5
  CHECK(mean_over_batches([](const T& x, const T&) { return x(0).template item<float>(); }, batches) ==
        (0 * 2 + 2 * 2 + 4 * 1) / 5.0);
  const Figures figures = mean_over_batches(
      [](const T& x, const T& t) {
        return NamedList<T>{{"loss", mean(square(t - x))}, {"small", mean(cast(x < 3, DType::f32))}};
      },
      batches);
  CHECK(figures["loss"] == 6);
  CHECK(figures["small"] == doctest::Approx(0.6).epsilon(1e-7));
  const Figures numbers = mean_over_batches([](const T&, const T&) { return Figures{{"one", 1}}; }, batches);
  CHECK(numbers["one"] == 1);
}

BOTH_MODES("a mean over batches refuses what has no mean") {
  using T = Tensor<Mode>;
  auto batches = numbered<Mode>(5, {.size = 2, .shuffle = false});
  CHECK_THROWS_WITH_AS(mean_over_batches([](const T& x, const T&) { return x; }, batches),
                       "mean_over_batches: 'metric' must be one number, not of shape (2,)", ShapeError);
  batches.seek({0, 0});
  const auto changing = [](const T& x, const T&) {
    return x.size() == 2 ? Figures{{"a", 1}, {"b", 2}} : Figures{{"a", 1}};
  };
  CHECK_THROWS_WITH_AS(mean_over_batches(changing, batches),
                       "mean_over_batches: the metrics are a, b in the first batch and a in another; each batch must "
                       "have the same",
                       ValueError);
  batches.seek({0, 0});
  const auto late = [](const T& x, const T&) { return x.size() == 2 ? Figures{} : Figures{{"a", 1}}; };
  CHECK_THROWS_WITH_AS(mean_over_batches(late, batches),
                       doctest::Contains("the metrics are none in the first batch and a in another"), ValueError);
  CHECK_THROWS_WITH_AS(detail::BatchMeans().means(), "mean_over_batches: the batches have no samples", ValueError);
}

}  // namespace tyto::nn
