// SPDX-License-Identifier: MIT
// Training in both modes: hundreds of steps, every loss the same, bit for bit where the same kernels run.
#include <doctest/doctest.h>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <vector>

namespace modes_test {

using namespace tyto;

namespace {

// The example's network in small; what it learns does not matter, that it is chaotic does.
template <class Mode>
std::vector<float> losses(int steps, const char* passes = "") {
  using T = Tensor<Mode>;
  seed(7);
  const nn::Sequential model{nn::Conv2d({.in = 1, .out = 4, .window = 3, .padding = same}),
                             relu,
                             nn::MaxPool(2),
                             nn::Dropout(0.1),
                             nn::Flatten(),
                             nn::Linear({.in = 4 * 4 * 4, .out = 24}),
                             relu,
                             nn::Linear({.in = 24, .out = 5})};
  nn::Descent descent = nn::adagrad({.rate = 0.005});
  const auto objective = [&](T x, T t) { return cross_entropy(model(x, nn::training), t); };
  auto step = compile(
      [&](T x, T t) {
        auto [loss, gradients] = value_and_grad(objective, model.parameters())(x, t);
        descent.update(model.parameters(), gradients);
        return loss;
      },
      {.passes = passes});
  std::vector<float> list;
  for (int i = 0; i < steps; ++i) {
    const Key key{11, static_cast<std::uint64_t>(2 * (i % 5))};
    const T x = T::uniform({10, 8, 8, 1}, {.key = key});
    const T t = T::integers({10}, {.high = 5, .key = Key{key.seed, key.stream + 1}});
    list.push_back(step(x, t).template item<float>());
  }
  return list;
}

}  // namespace

TEST_CASE("200 steps of training give the same losses in both modes") {
  const std::vector<float> eager = losses<Eager>(200);
  CHECK(eager.front() != eager.back());
  CHECK(eager == losses<Lazy>(200, "-epilogues"));
  // A product that adds its bias may add it first: the sum's last place.
  const std::vector<float> lazy = losses<Lazy>(200);
  for (std::size_t i = 0; i < eager.size(); ++i) CHECK(lazy[i] == doctest::Approx(eager[i]).epsilon(1e-5));
}

}  // namespace modes_test
