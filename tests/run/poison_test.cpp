// SPDX-License-Identifier: MIT
// Graphs of many kinds over poisoned memory: no step reads memory after its lifetime, bit for bit.
#include <doctest/doctest.h>

#include <functional>
#include <sstream>
#include <tyto/tyto.hpp>
#include <vector>

#include "tests/run/same_bits.hpp"

namespace tyto {
namespace {

using L = Tensor<Lazy>;

L sample(const Shape& shape, std::uint64_t stream = 1) {
  return L::uniform(shape, {.low = -1, .high = 1, .key = Key{11, stream}});
}

/// A small convolutional network with its own states, one step of which is the function.
std::function<Outputs(L, L)> network_step() {
  const L kernel = L::variable(sample({3, 3, 1, 4}, 2), "kernel"), weight = L::variable(sample({36, 3}, 3), "weight"),
          seen = L::persistent(L::zeros({36, 3}), "seen");
  return [=](L x, L t) {
    const auto [loss, grads] = value_and_grad(
        [&](const L& k, const L& w) {
          const L maps = max_pool(maximum(conv2d(x, k), L(0.0F)), 2);
          const L y = matmul(maps.reshape({x.shape()[0], 36}), w);
          return mean((y - t) * (y - t)) + 0.01 * (w * w).sum();
        },
        {0, 1})(kernel, weight);
    const L sum = seen + grads[1] * grads[1];
    assign(seen, sum);
    assign(weight, weight - 0.1 * grads[1] / sqrt(sum + 1e-6));
    assign(kernel, kernel - 0.1 * grads[0]);
    return Outputs{loss, weight + 0, grads[0]};
  };
}

std::function<Outputs(L)> recurrent_step() {
  const L hidden = L::persistent(sample({5, 8}, 4), "hidden"), cell = L::persistent(sample({5, 8}, 5), "cell"),
          weight = L::variable(sample({12, 32}, 6), "weight");
  return [=](L x) {
    L h = hidden, c = cell;
    std::vector<L> states;
    for (int step = 0; step < 4; ++step) {
      const L gates = matmul(concat<Lazy>({x * static_cast<float>(step + 1), h}, 1), weight);
      const L in = sigmoid(gates(all, slice(0, 8))), keep = sigmoid(gates(all, slice(8, 16))),
              out = sigmoid(gates(all, slice(16, 24)));
      c = keep * c + in * tanh(gates(all, slice(24, 32)));
      h = out * tanh(c);
      states.push_back(h);
    }
    assign(hidden, h);
    assign(cell, c);
    return Outputs{stack<Lazy>(states, 0), h, (states[0] * states[2]).sum()};
  };
}

std::function<Outputs(L)> views_and_chains() {
  return [](L x) {
    const L y = exp(x * 0.1);
    const L transposed = y.transpose(), flipped = flip(y, Axes{0}), part = y(slice(1, 5, 2), slice({}, {}, -1));
    L chain = sin(y);
    for (int i = 0; i < 6; ++i) chain = chain * 1.01F + y * 0.5F;
    L written = cos(y);
    written(slice(0, 2)) = part;
    written(all, 1) = chain(all, 0);
    const L sorted = sort(written, 1), sums = cumsum(sorted, 0);
    return Outputs{matmul(transposed, flipped),
                   chain,
                   written,
                   sums,
                   softmax(sorted + sums, 0),
                   tril(y(slice(0, 6), slice(0, 6))) + pad(part, {1, 0}, {3, 0}),
                   y};
  };
}

std::function<Outputs(L)> exchanged_states() {
  const L a = L::persistent(sample({7}, 8), "a"), b = L::persistent(sample({7}, 9), "b");
  return [=](L x) {
    const L old = a + 0;
    const L first = b * x, second = a + x;
    assign(a, first);
    assign(b, second);
    return Outputs{old, a - b};
  };
}

template <class Fresh, class... T>
void check(const Fresh& fresh, const T&... arguments) {
  check_same_bits_of(fresh, 3, arguments...);
}

void check_all() {
  check(network_step, sample({6, 8, 8, 1}), sample({6, 3}, 7));
  check(recurrent_step, sample({5, 4}));
  check(views_and_chains, sample({8, 6}));
  check(exchanged_states, sample({7}));
}

}  // namespace

TEST_CASE("steps of networks, views, chains in place and exchanged states over poisoned memory") { check_all(); }

TEST_CASE("the same on an OpenCL device, with steps that run on the host in between") {
  bool found = false;
  for (const DeviceInfo& device : devices()) found = found || device.name.starts_with("opencl");
  if (!found) {
    MESSAGE("no OpenCL device: nothing to compare");
    return;
  }
  const DeviceScope scope("opencl");
  check_all();
  auto join = compile([](L x) {
    L y = concat<Lazy>({exp(x), pad(x * 2, {0, 1}, {0, 1})(all, slice(1, 4))}, 0);
    y(0) = x(1);
    return y;
  });
  const L x = sample({2, 3});
  (void)join(x);
  CHECK(join.report().fallbacks.empty());
}

TEST_CASE("poison shows a read of memory that holds nothing") {
  // NaN in floating-point types; what nobody reads does no harm.
  auto sum = compile([](L x) { return (exp(x) * 0 + 1).sum(); }, {.poison = true});
  CHECK(sum(L::zeros({100})).item<float>() == 100);
}

TEST_CASE("allocations made below a run are counted and named") {
  auto plain = compile([](L x) { return matmul(exp(x), x.transpose()).sum(); });
  for (int i = 0; i < 3; ++i) (void)plain(sample({32, 32}));
  CHECK(plain.report().unplanned_allocations == 0);
  CHECK(plain.report().unplanned_by_node.empty());

  auto greedy = compile([](L x) {
    const NameScope scope("outside");
    return delay<Lazy>({4}, DType::f32, [](const std::vector<Tensor<Eager>>& in) { return in[0] + 1; }, {exp(x)});
  });
  for (int i = 0; i < 3; ++i) (void)greedy(sample({4}));
  CHECK(greedy.report().unplanned_allocations > 0);
  REQUIRE(greedy.report().unplanned_by_node.size() == 1);
  CHECK(greedy.report().unplanned_by_node[0].starts_with("outside/custom: "));
}

TEST_CASE("reports name the largest tensors by the user's labels and count all memory") {
  const L w = L::variable(L::zeros({256, 256}), "w");
  auto f = compile([&](L x) {
    const NameScope outer("encoder");
    L y = matmul(x, w);
    {
      const NameScope inner("square");
      y = matmul(y, y);
    }
    return matmul(y, L::constant(sample({256, 256}))).sum();
  });
  (void)f(sample({256, 256}));
  REQUIRE_FALSE(f.plan().top_at_peak.empty());
  bool named = false;
  for (const PeakBlock& consumer : f.plan().top_at_peak) {
    named = named || consumer.label == "encoder/square/matmul" || consumer.label == "encoder/matmul";
  }
  CHECK(named);
  constexpr std::size_t matrix = 256 * 256 * 4;
  const GraphReport report = f.report();
  CHECK(report.state_bytes == 0);     // w is held packed alone
  CHECK(report.constant_bytes == 0);  // nor the constant in any other way
  CHECK(report.input_bytes == matrix);
  CHECK(report.output_bytes == 4);
  CHECK(report.kept_bytes >= 2 * matrix);
  CHECK(report.total_bytes() == report.arena_bytes + report.constant_bytes + report.kept_bytes + matrix + 4);
  std::ostringstream text;
  text << report << f.plan();
  CHECK(text.str().find("kept between runs") != std::string::npos);
  CHECK(text.str().find("encoder/") != std::string::npos);

  const L x = L::placeholder({64, 64});
  Graph graph({.inputs = {x}, .outputs = {matmul(exp(x), x)}});
  CHECK(graph.memory_map().find("<svg") != std::string::npos);
  CHECK(graph.memory_map().find("exp") != std::string::npos);
}

}  // namespace tyto
