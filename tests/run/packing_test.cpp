// Packed weights: the same numbers, packed once, and again when somebody assigned others.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/run/devices.hpp"
#include "engine/run/executable.hpp"
#include "engine/run/trace.hpp"
#include "tyto/nn.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using Lazily = Tensor<Lazy>;

namespace {

Lazily counted(const Shape& shape, double step) {
  return reshape(Lazily::arange(0, static_cast<double>(element_count(shape)), 1, DType::f32), shape) * step - 1.0;
}

std::size_t packings(const Lazily& result) {
  const std::vector<Value> outputs{result};
  run::Traced traced = run::trace({.outputs = outputs, .updates = {}, .inputs = {}});
  return run::Executable(std::move(traced.graph), run::cpu_device(), CompileOptions()).packings().size();
}

}  // namespace

TEST_CASE("a product with a variable packs it once, and anew after it was assigned") {
  const Lazily x = counted({32, 24}, 0.01);
  const Lazily w = Lazily::variable(counted({24, 48}, 0.02)), b = Lazily::variable(counted({48}, 0.5));
  auto layer = compile([&](Lazily input) { return relu(matmul(input, w) + b); });
  const auto expected = [&] {
    // By the definition, in f64.
    const std::vector<float> left = x.to_vector<float>(), right = w.to_vector<float>(), bias = b.to_vector<float>();
    std::vector<double> sums;
    for (std::size_t i = 0; i < 32; ++i) {
      for (std::size_t j = 0; j < 48; ++j) {
        double sum = static_cast<double>(bias[j]);
        for (std::size_t k = 0; k < 24; ++k) {
          sum += static_cast<double>(left[i * 24 + k]) * static_cast<double>(right[k * 48 + j]);
        }
        sums.push_back(sum < 0 ? 0 : sum);
      }
    }
    return sums;
  };
  const auto check = [&] {
    const std::vector<float> got = layer(x).to_vector<float>();
    const std::vector<double> want = expected();
    for (std::size_t i = 0; i < want.size(); ++i) {
      CHECK(static_cast<double>(got[i]) == doctest::Approx(want[i]).epsilon(1e-4));
    }
  };
  check();
  check();
  assign(w, counted({24, 48}, -0.03));
  check();
  assign(b, counted({48}, -0.25));
  check();
}

TEST_CASE("a convolution reads the weights that a training step left, though both are compiled") {
  seed(5);
  const nn::Sequential model{nn::Conv2d({.in = 3, .out = 16, .window = 3, .padding = same}), tyto::relu};
  nn::Descent descent = nn::sgd({.rate = 0.1});
  const auto objective = [&](Lazily x) { return mean(square(model(x, nn::training))); };
  auto step = compile([&](Lazily x) {
    auto [loss, gradients] = value_and_grad(objective, model.parameters())(x);
    descent.update(model.parameters(), gradients);
    return loss;
  });
  auto infer = compile([&](Lazily x) { return model(x); });
  CompileOptions plain;
  plain.passes = "none";
  auto reference = compile([&](Lazily x) { return model(x); }, plain);
  const Lazily x = counted({2, 8, 8, 3}, 0.005);
  for (int i = 0; i < 3; ++i) {
    const std::vector<float> got = infer(x).to_vector<float>(), want = reference(x).to_vector<float>();
    for (std::size_t k = 0; k < want.size(); ++k) CHECK(got[k] == doctest::Approx(want[k]).epsilon(1e-4));
    (void)step(x).item<float>();
  }
}

TEST_CASE("weights that are arguments are not packed, nor those that one row reads") {
  const Lazily w = Lazily::variable(counted({24, 48}, 0.02));
  CHECK(packings(matmul(Lazily::placeholder({32, 24}), w)) == 1);
  CHECK(packings(matmul(Lazily::placeholder({1, 24}), w)) == 0);
  CHECK(packings(matmul(Lazily::placeholder({32, 24}), Lazily::placeholder({24, 48}))) == 0);
}

TEST_CASE("a function of many shapes keeps its weights packed for two of them, and packs them anew for others") {
  const Lazily w = Lazily::variable(counted({512, 512}, 1e-6));
  auto product = compile([&](Lazily x) { return matmul(x, w).sum(); });
  constexpr std::size_t weights = 512 * 512 * sizeof(float);
  std::size_t after_two = 0;
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t rows = 2; rows <= 9; ++rows) {
      // Each of w's sums is -512 and some.
      const Lazily x = Lazily::ones({rows, 512});
      const double sum = static_cast<double>(product(x).item<float>());
      double expected = 0;
      for (int i = 0; i < 512 * 512; ++i) expected += i * 1e-6 - 1.0;
      CHECK(sum == doctest::Approx(expected * static_cast<double>(rows)).epsilon(1e-4));
      if (after_two == 0 && rows == 3) after_two = run::cpu_device().allocated();
    }
  }
  CHECK(product.report().kept_bytes >= weights);
  CHECK(run::cpu_device().allocated() < after_two + weights);
}

TEST_CASE("a graph run in parts reads weights that were assigned in between") {
  const Lazily w = Lazily::variable(Lazily::ones({16, 16}));
  const Lazily x = Lazily::placeholder({4, 16}), y = Lazily::placeholder({4, 16});
  const Lazily left = matmul(x, w), right = matmul(y, w);
  Graph graph{{.inputs = {x, y}, .outputs = {left, right}}};
  const auto both = [&] {
    graph.run();
    return std::pair(graph[left].to_vector<float>()[0], graph[right].to_vector<float>()[0]);
  };
  graph.set(x, Lazily::full({4, 16}, 1.0));
  graph.set(y, Lazily::full({4, 16}, 2.0));
  CHECK(both() == std::pair(16.0F, 32.0F));
  graph.set(y, Lazily::full({4, 16}, 3.0));
  CHECK(both() == std::pair(16.0F, 48.0F));
  assign(w, Lazily::full({16, 16}, 0.5));
  CHECK(both() == std::pair(8.0F, 24.0F));
  graph.set(x, Lazily::full({4, 16}, 4.0));
  CHECK(both() == std::pair(32.0F, 24.0F));
  assign(w, Lazily::full({16, 16}, 0.25));
  graph.set(x, Lazily::full({4, 16}, 8.0));
  CHECK(both() == std::pair(32.0F, 12.0F));
}
