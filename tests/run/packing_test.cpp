// SPDX-License-Identifier: MIT
// Packed weights: the same numbers, packed once, and again when other values are assigned.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/evaluate.hpp"
#include "engine/graph/state.hpp"
#include "engine/graph/trace.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/executable.hpp"
#include "engine/run/packed_weights.hpp"
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
  return run::Executable(std::move(traced.graph), run::cpu_device(), CompileOptions()).packed_inputs().size();
}

// Small integers: sums of their products are whole, so that every order of summation has the same bits.
std::vector<float> integers(const Shape& shape, std::int64_t factor) {
  std::vector<float> numbers(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(static_cast<std::int64_t>(i) * factor % 7 - 3);
  }
  return numbers;
}

std::vector<float> product_by_definition(const std::vector<float>& left, const std::vector<float>& right,
                                         std::size_t rows, std::size_t inner, std::size_t columns) {
  std::vector<float> sums(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < inner; ++k) {
      for (std::size_t j = 0; j < columns; ++j) sums[i * columns + j] += left[i * inner + k] * right[k * columns + j];
    }
  }
  return sums;
}

// Brings back the thread count that was.
struct ThreadsRestored {
  int before = threads();
  ~ThreadsRestored() { threads(before); }
};

}  // namespace

TEST_CASE("weights are packed in the first run and not in the second") {
  const Lazily x = Lazily::placeholder({32, 24});
  const Lazily w = Lazily::variable(counted({24, 48}, 0.02));
  Graph graph{{.inputs = {x}, .outputs = {matmul(x, w)}}};
  graph.set(x, counted({32, 24}, 0.01));
  const auto packing_steps = [&] {
    return std::ranges::count(graph.profile().steps, std::string("pack_weights"), &StepProfile::name);
  };
  const bool packs = packings(matmul(counted({32, 24}, 0.01), w)) != 0;
  CHECK((graph.report().kept_bytes >= 24 * 48 * sizeof(float)) == packs);
  CHECK(packing_steps() == 0);
  graph.set(x, counted({32, 24}, 0.03));
  CHECK(packing_steps() == 0);
}

TEST_CASE("weights that a run wrote before it threw are packed anew") {
  bool fails = false;
  const CustomOp checked = custom_op({.name = "checked",
                                      .results = [](ArrayTypes in) { return std::vector{in[0]}; },
                                      .host =
                                          [&](HostInputs, HostResults) {
                                            if (fails) throw std::runtime_error("stopped");
                                          }});
  const Lazily q = Lazily::placeholder({64, 64}), p = Lazily::placeholder({8, 64}), z = Lazily::placeholder({8});
  const Lazily w = Lazily::variable(Lazily::ones({64, 64}));
  const Lazily doubled = w * 2.0;
  Graph train{{.inputs = {q}, .outputs = {checked(matmul(q, q) + doubled)}, .updates = {{w, doubled}}}};
  Graph use{{.inputs = {p, z}, .outputs = {matmul(p, w), exp(z)}}};
  train.set(q, Lazily::ones({64, 64}));
  use.set(z, Lazily::ones({8}));
  const auto used = [&] {
    use.set(p, Lazily::ones({8, 64}));
    use.run();
    return use.output(0).to_vector<float>()[0];
  };
  CHECK(used() == 64);
  train.run();
  CHECK(used() == 128);
  fails = true;
  CHECK_THROWS_AS(train.run(), GraphError);
  // Whether the step came to write is its own affair; what reads the weights sees what they are.
  CHECK(used() == 64 * w.to_vector<float>()[0]);
}

TEST_CASE("constant weights in f16 are widened and packed once") {
  constexpr std::int64_t inner = 24, columns = 48;
  const std::vector<float> right = integers({inner, columns}, 3);
  const Lazily w = Lazily::from(right, {inner, columns}).astype(DType::f16);
  const Lazily b = Lazily::full({columns}, 2, DType::f16);
  eval({w, b});
  for (const std::int64_t rows : {2, 16, 100}) {
    const std::vector<float> left = integers({rows, inner}, 5);
    const std::vector<float> sums = product_by_definition(left, right, static_cast<std::size_t>(rows), inner, columns);
    std::vector<float> limited(sums), added(sums);
    for (float& each : limited) each = std::max(each + 2, 0.0F);
    for (std::size_t i = 0; i < added.size(); ++i) added[i] += 7;
    const Lazily x = Lazily::from(left, {rows, inner}).astype(DType::f16);
    auto plain = compile([&](Lazily y) { return matmul(y, w); });
    auto relued = compile([&](Lazily y) { return maximum(matmul(y, w) + b, 0.0); });
    auto residual = compile([&](Lazily y, Lazily z) { return matmul(y, w) + z; });
    for (int run = 0; run < 2; ++run) {
      CHECK(plain(x).astype(DType::f32).to_vector<float>() == sums);
      CHECK(relued(x).astype(DType::f32).to_vector<float>() == limited);
      const Lazily sevens = Lazily::full({rows, columns}, 7, DType::f16);
      CHECK(residual(x, sevens).astype(DType::f32).to_vector<float>() == added);
    }
    CHECK(plain.profile(x).steps.size() == 1);
  }
  const Lazily x = Lazily::placeholder({100, inner}, DType::f16);
  const std::vector<Value> outputs{matmul(x, w)};
  const std::vector<std::shared_ptr<core::State>> inputs{run::state_behind(x.value(), "test")};
  run::Traced traced = run::trace({.outputs = outputs, .updates = {}, .inputs = inputs});
  const run::Executable made(std::move(traced.graph), run::cpu_device(), CompileOptions());
  CHECK(std::ranges::any_of(made.graph().nodes(), [&](const core::GraphNode& node) {
    const auto* const product = std::get_if<core::ProductAttributes>(&made.graph().attributes(node));
    return product != nullptr && product->packed;
  }));
}

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
    REQUIRE(got.size() == want.size());
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
    REQUIRE(got.size() == 2 * 8 * 8 * 16);
    REQUIRE(want.size() == got.size());
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

TEST_CASE("sizes whose kernels read one layout share packed weights, and paths to other layouts do not") {
  const ThreadsRestored restored;
  const Lazily w = Lazily::variable(counted({48, 48}, 0.02)), v = Lazily::variable(counted({48, 48}, 0.02));
  const auto weights_of = [](const Lazily& result) {
    const std::vector<Value> outputs{result};
    run::Traced traced = run::trace({.outputs = outputs, .updates = {}, .inputs = {}});
    const run::Executable executable(std::move(traced.graph), run::cpu_device(), CompileOptions());
    REQUIRE(executable.packed_inputs().size() == 1);
    return executable.packed_inputs()[0].weights;
  };
  threads(1);
  const auto of_32 = weights_of(matmul(Lazily::placeholder({32, 48}), w));
  threads(4);
  CHECK(weights_of(matmul(Lazily::placeholder({2, 300, 48}), w)) == of_32);
  CHECK(weights_of(relu(matmul(Lazily::placeholder({33, 48}), w) + 1.0)) == of_32);
  CHECK(weights_of(matmul(Lazily::placeholder({32, 48}), transpose(w))) != of_32);
  CHECK(weights_of(matmul(Lazily::placeholder({32, 48}), v)) != of_32);
  const Lazily kernel = Lazily::variable(counted({3, 3, 8, 32}, 0.02));
  const auto of_one = weights_of(conv2d(Lazily::placeholder({1, 9, 9, 8}), kernel));
  CHECK(weights_of(conv2d(Lazily::placeholder({1, 9, 9, 16}), kernel, {.groups = 2})) != of_one);

  // They are released by who read them last, where the plain ones are held.
  const core::Array plain = run::contents(w.value());
  const int one = 1, two = 2;
  const std::weak_ptr<core::Buffer> buffer = of_32->current(run::contents, &one).buffer;
  CHECK(of_32->current(run::contents, &two).buffer == buffer.lock());
  of_32->release(&one);
  CHECK_FALSE(buffer.expired());
  of_32->release(&two);
  CHECK(buffer.expired());
}

TEST_CASE("products of many sizes read the weights that were assigned between them") {
  constexpr std::int64_t inner = 40, columns = 72;
  const Lazily w = Lazily::variable(Lazily::zeros({inner, columns}));
  auto product = compile([&](Lazily x) { return matmul(x, w); });
  std::int64_t factor = 1;
  for (const std::int64_t rows : {2, 16, 3, 90, 16, 700, 2, 8, 33}) {
    const std::vector<float> left = integers({rows, inner}, 3), right = integers({inner, columns}, ++factor);
    assign(w, Lazily::from(right, {inner, columns}));
    const std::vector<float> expected =
        product_by_definition(left, right, static_cast<std::size_t>(rows), inner, columns);
    for (int call = 0; call < 2; ++call) {
      CHECK(product(Lazily::from(left, {rows, inner})).to_vector<float>() == expected);
    }
    CHECK(w.to_vector<float>() == right);
  }
}

TEST_CASE("convolutions of many sizes read the weights that were assigned between them") {
  struct Kernel {
    std::int64_t height, width, in, out, groups;
  };
  for (const Kernel& k : {Kernel{3, 3, 3, 20, 1},
                          {3, 1, 3, 20, 1},
                          {3, 3, 16, 64, 1},
                          {1, 1, 16, 64, 1},
                          {3, 3, 16, 64, 2},
                          {1, 3, 1, 1, 1}}) {
    const Shape shape{k.height, k.width, k.in / k.groups, k.out};
    const Lazily w = Lazily::variable(Lazily::zeros(shape));
    auto convolve = compile([&](Lazily x) { return relu(conv2d(x, w, {.padding = same, .groups = k.groups}) + 4.0); });
    std::int64_t factor = 1;
    for (const auto& [height, width] : {std::pair{9, 9}, {9, 4}, {9, 1}, {33, 60}, {9, 4}, {14, 14}, {9, 1}}) {
      CAPTURE(height);
      const std::vector<float> weights = integers(shape, ++factor);
      assign(w, Lazily::from(weights, shape));
      // Only pixel (4, 0) of one channel is 1: around it each tap shows once.
      const std::int64_t channel = k.in - 1;
      std::vector<float> pixels(static_cast<std::size_t>(height * width * k.in));
      pixels[static_cast<std::size_t>(4 * width * k.in + channel)] = 1;
      std::vector<float> expected(static_cast<std::size_t>(height * width * k.out), 4);
      for (std::int64_t y = 0; y < k.height; ++y) {
        for (std::int64_t x = 0; x < k.width; ++x) {
          const std::int64_t row = 4 + k.height / 2 - y, column = k.width / 2 - x;
          if (column < 0 || column >= width) continue;
          for (std::int64_t out = 0; out < k.out; ++out) {
            if (out / (k.out / k.groups) != channel / (k.in / k.groups)) continue;
            expected[static_cast<std::size_t>((row * width + column) * k.out + out)] +=
                weights[static_cast<std::size_t>(
                    ((y * k.width + x) * k.in / k.groups + channel % (k.in / k.groups)) * k.out + out)];
          }
        }
      }
      CHECK(convolve(Lazily::from(pixels, {1, height, width, k.in})).to_vector<float>() == expected);
    }
  }
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

TEST_CASE("bytes of weights packed for one number of rows are read by other numbers") {
  // With four threads and more, oneDNN lays them out by the rows, in as many bytes: see run.eight_threads.
  constexpr std::int64_t inner = 448, columns = 304;
  std::vector<std::int8_t> weights;
  for (std::int64_t i = 0; i < inner * columns; ++i) weights.push_back(static_cast<std::int8_t>(i * 7 % 255 - 127));
  const Lazily w = Lazily::variable(Lazily::from(weights, {inner, columns}));
  auto product = compile([&](Lazily x) { return matmul(x.astype(DType::i32), w.astype(DType::i32)); });
  for (const std::int64_t rows : {300, 1, 19, 64, 15, 300}) {
    CAPTURE(rows);
    std::vector<std::uint8_t> left;
    for (std::int64_t i = 0; i < rows * inner; ++i) left.push_back(static_cast<std::uint8_t>(i * 5 % 256));
    std::vector<std::int32_t> expected;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        std::int32_t sum = 0;
        for (std::int64_t k = 0; k < inner; ++k)
          sum +=
              left[static_cast<std::size_t>(row * inner + k)] * weights[static_cast<std::size_t>(k * columns + column)];
        expected.push_back(sum);
      }
    }
    CHECK(product(Lazily::from(left, {rows, inner})).to_vector<std::int32_t>() == expected);
  }
}

TEST_CASE("weights packed under one thread count are read under another") {
  const ThreadsRestored restored;
  // oneDNN by itself would lay the first out differently in as many bytes, the second in other ones.
  for (const auto& sizes : {std::array<std::int64_t, 3>{12, 784, 100}, {33, 300, 129}}) {
    const std::int64_t rows = sizes[0], inner = sizes[1], columns = sizes[2];
    for (const bool constant : {true, false}) {
      CAPTURE(rows);
      CAPTURE(constant);
      const std::vector<float> weights = integers({inner, columns}, 5);
      const Lazily given = Lazily::from(weights, {inner, columns});
      const Lazily w = constant ? given : Lazily::variable(given);
      const Lazily x = Lazily::placeholder({rows, inner}), y = Lazily::placeholder({rows, inner});
      const Lazily z = Lazily::placeholder({4});
      Graph graph{{.inputs = {x, y, z}, .outputs = {matmul(x, w), matmul(y, w), exp(z)}}};
      const auto set = [&](const Lazily& input, std::int64_t factor) {
        const std::vector<float> numbers = integers({rows, inner}, factor);
        graph.set(input, Lazily::from(numbers, {rows, inner}));
        return product_by_definition(numbers, weights, static_cast<std::size_t>(rows), static_cast<std::size_t>(inner),
                                     static_cast<std::size_t>(columns));
      };
      graph.set(z, Lazily::ones({4}));
      for (const int first : {1, 2, 4, 8}) {
        for (const int second : {1, 2, 4, 8}) {
          threads(first);
          std::vector<float> left = set(x, first), right = set(y, 3);
          graph.run();
          CHECK(graph.output(0).to_vector<float>() == left);
          CHECK(graph.output(1).to_vector<float>() == right);
          left = set(x, first + 1);
          graph.run();
          threads(second);
          right = set(y, second + 4);
          graph.run();
          CHECK(graph.output(0).to_vector<float>() == left);
          CHECK(graph.output(1).to_vector<float>() == right);
        }
      }
    }
  }
}

TEST_CASE("a convolution's weights packed under one thread count are read under another") {
  const ThreadsRestored restored;
  constexpr std::int64_t side = 14, window = 3, in = 16, out = 64;
  const Shape image{1, side, side, in};
  const ConvolutionOptions padded{.padding = same};
  const std::vector<float> weights = integers({window, window, in, out}, 5);
  const auto by_definition = [&](const std::vector<float>& pixels) {
    std::vector<float> patches;
    for (std::int64_t i = 0; i < side * side; ++i) {
      for (std::int64_t tap = 0; tap < window * window; ++tap) {
        const std::int64_t row = i / side + tap / window - 1, column = i % side + tap % window - 1;
        const bool inside = row >= 0 && row < side && column >= 0 && column < side;
        for (std::int64_t c = 0; c < in; ++c) {
          patches.push_back(inside ? pixels[static_cast<std::size_t>((row * side + column) * in + c)] : 0);
        }
      }
    }
    return product_by_definition(patches, weights, side * side, window * window * in, out);
  };
  for (const int first : {1, 2, 4, 8}) {
    for (const int second : {1, 2, 4, 8}) {
      const Lazily w = Lazily::variable(Lazily::from(weights, {window, window, in, out}));
      const Lazily x = Lazily::placeholder(image), y = Lazily::placeholder(image), z = Lazily::placeholder({4});
      Graph graph{{.inputs = {x, y, z}, .outputs = {conv2d(x, w, padded), conv2d(y, w, padded), exp(z)}}};
      const auto set = [&](const Lazily& input, std::int64_t factor) {
        const std::vector<float> numbers = integers(image, factor);
        graph.set(input, Lazily::from(numbers, image));
        return by_definition(numbers);
      };
      graph.set(z, Lazily::ones({4}));
      threads(first);
      set(x, 1);
      set(y, 2);
      graph.run();
      const std::vector<float> left = set(x, 3);
      graph.run();
      threads(second);
      const std::vector<float> right = set(y, 4);
      graph.run();
      CHECK(graph.output(0).to_vector<float>() == left);
      CHECK(graph.output(1).to_vector<float>() == right);
    }
  }
}
