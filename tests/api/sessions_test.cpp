// SPDX-License-Identifier: MIT
// One compiled function or graph for many threads: sessions that share plans and weights.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <tyto/tyto.hpp>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tests/support/clients.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/two_layers.hpp"

using tyto::DType;
using tyto::GraphError;
using namespace tyto_test;

namespace {

using Lazy = tyto::Tensor<tyto::Lazy>;

std::size_t allocated_bytes() { return tyto::devices()[0].allocated; }

}  // namespace

BOTH_MODES("clients call sessions of one compiled function at the same time") {
  using Tensor = tyto::Tensor<Mode>;
  const TwoLayers<Tensor> layers;
  auto f = tyto::compile([&](Tensor x) { return layers(x); });
  std::atomic<std::size_t> unplanned = 0;
  CHECK(by_clients([&](int client) {
          auto mine = f.session();
          bool right = true;
          for (int call = 0; call < calls_each; ++call) {
            const std::int64_t rows = 1 + (client + call) % 3;  // traces are made by whoever needs them first
            right = right &&
                    numbers(mine(input_of_call<Tensor>(client, call, rows))) == two_layers_of_call(client, call, rows);
          }
          if constexpr (std::is_same_v<Mode, tyto::Lazy>) unplanned += mine.report().unplanned_allocations;
          return right;
        }) == "");
  CHECK(unplanned == 0);
  CHECK(numbers(f(input_of_call<Tensor>(1, 2))) == two_layers_of_call(1, 2));
}

BOTH_MODES("sessions give the bits that calls one after the other give") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return std::pair(softmax(tanh(x) * 3.0, 1), exp(x * 0.1).sum(1)); });
  std::vector<std::pair<Numbers, Numbers>> serial;
  for (int i = 0; i < clients; ++i) {
    const auto [a, b] = f(input_of_call<Tensor>(i, i, 5));
    serial.emplace_back(numbers(a), numbers(b));
  }
  CHECK(by_clients([&](int client) {
          auto mine = f.session();
          for (int call = 0; call < calls_each; ++call) {
            const auto [a, b] = mine(input_of_call<Tensor>(client, client, 5));
            if (std::pair(numbers(a), numbers(b)) != serial[static_cast<std::size_t>(client)]) return false;
          }
          return true;
        }) == "");
}

TEST_CASE("clients run sessions of one graph at the same time") {
  const Lazy x = Lazy::placeholder({2, 32}, DType::f32, "x");
  const TwoLayers<Lazy> layers;
  const Lazy y = layers(x);
  tyto::Graph g{{.inputs = {x}, .outputs = {y}}};
  std::vector<tyto::Graph> sessions;
  for (int i = 0; i < clients; ++i) sessions.push_back(g.session());
  CHECK(by_clients([&](int client) {
          tyto::Graph& mine = sessions[static_cast<std::size_t>(client)];
          for (int call = 0; call < calls_each; ++call) {
            mine.set(x, input_of_call<Lazy>(client, call, 2));
            mine.run();
            if (numbers(mine[y]) != two_layers_of_call(client, call, 2)) return false;
          }
          return mine.report().unplanned_allocations == 0;
        }) == "");
  g.set(x, input_of_call<Lazy>(0, 1, 2));
  g.run();
  CHECK(numbers(g.output(0)) == two_layers_of_call(0, 1, 2));
  CHECK(g.session().plan().height == g.plan().height);
}

TEST_CASE("sessions see the weights that are assigned between calls") {
  const Lazy w = Lazy::variable(Lazy::full({32}, 1.0, DType::f32), "w");
  auto f = tyto::compile([&](Lazy x) { return (x * w).sum(); });
  auto one = f.session(), other = f.session();
  const Lazy x = Lazy::ones({32}, DType::f32);
  CHECK(one(x).item<float>() == 32);
  CHECK(other(x).item<float>() == 32);
  for (int i = 2; i < 5; ++i) {
    assign(w, w * 0.0 + static_cast<double>(i));  // computed by whichever session reads it first
    CHECK(by_clients([&](int) { return f.session()(x).item<float>() == static_cast<float>(32 * i); }) == "");
    CHECK(one(x).item<float>() == static_cast<float>(32 * i));
    CHECK(other(x).item<float>() == static_cast<float>(32 * i));
  }
}

TEST_CASE("the function itself is a client like its sessions") {
  const Lazy w = Lazy::variable(Lazy::full({32}, 1.0, DType::f32), "w");
  auto f = tyto::compile([&](Lazy x) { return (x * w).sum(); });
  const Lazy x = Lazy::ones({32}, DType::f32);
  tyto::eval({x});
  std::vector<decltype(f.session())> sessions;
  for (int i = 1; i < clients; ++i) sessions.push_back(f.session());
  for (int round = 0; round < 50; ++round) {
    assign(w, w * 0.0 + static_cast<double>(round));
    CHECK(by_clients([&](int client) {
            const Lazy y = client == 0 ? f(x) : sessions[static_cast<std::size_t>(client) - 1](x);
            return y.item<float>() == static_cast<float>(32 * round);
          }) == "");
  }
}

TEST_CASE("a function that is called by many threads refuses them or gives each its numbers") {
  auto f = tyto::compile([](Lazy x) { return std::tuple(x * 2.0, x + 1.0); });
  (void)f(Lazy::ones({8}, DType::f32));
  CHECK(by_clients([&](int client) {
          const Lazy x = Lazy::full({8}, static_cast<double>(client), DType::f32);
          for (int call = 0; call < 200; ++call) {
            try {
              const auto [twice, more] = f(x);
              if (numbers(twice) != std::vector<double>(8, 2.0 * client)) return false;
              if (numbers(more) != std::vector<double>(8, client + 1.0)) return false;
            } catch (const GraphError& error) {
              if (std::string(error.what()).find("while it runs") == std::string::npos) return false;
            }
          }
          return true;
        }) == "");
}

TEST_CASE("a function that asks for a session of itself while it is recorded is refused") {
  std::function<Lazy(Lazy)> inner = [](Lazy x) { return x; };
  auto f = tyto::compile([&](Lazy x) { return inner(x); });
  inner = [&](Lazy x) { return f.session()(x); };
  CHECK_THROWS_WITH_AS((void)f(Lazy::ones({2})),
                       "compile: the function asks for itself, or for a session(), while it is recorded", GraphError);
}

TEST_CASE("sessions hold weights once") {
  const Lazy w = Lazy::variable(weights_of<Lazy>(512, 512));
  auto f = tyto::compile([&](Lazy x) { return matmul(tanh(matmul(x, w)), w); });
  const Lazy x = Lazy::ones({4, 512}, DType::f32);
  (void)numbers(f(x));
  const std::size_t arena = f.report().arena_bytes;
  CHECK(f.report().kept_bytes + f.report().state_bytes >= 512 * 512 * 4);
  const std::size_t before = allocated_bytes();
  using Session = decltype(f.session());
  std::vector<Session> sessions;
  for (int i = 0; i < 8; ++i) sessions.push_back(f.session());
  for (Session& session : sessions) (void)numbers(session(x));
  // Each adds its arena, an output of 8 KB, and what rounding to pages takes; the weights have a megabyte.
  CHECK(allocated_bytes() - before <= 8 * (arena + 4 * 512 * 4 + 2 * 4096));
}

TEST_CASE("calls draw the next numbers of the sequence, none of them twice") {
  auto f = tyto::compile([](Lazy x) { return x + Lazy::uniform({4}, {.dtype = DType::f64}); });
  std::vector<Numbers> drawn(clients);
  tyto::seed(5);
  CHECK(by_clients([&](int client) {
          auto mine = f.session();
          for (int call = 0; call < calls_each; ++call) {
            const Numbers each = numbers(mine(Lazy::zeros({4}, DType::f64)));
            auto& all = drawn[static_cast<std::size_t>(client)];
            all.insert(all.end(), each.begin(), each.end());
          }
          return true;
        }) == "");
  CHECK(tyto::random_state().draws == clients * calls_each);
  Numbers every;
  for (const Numbers& each : drawn) every.insert(every.end(), each.begin(), each.end());
  std::sort(every.begin(), every.end());
  tyto::seed(5);
  Numbers serial;
  for (int i = 0; i < clients * calls_each; ++i) {
    const Numbers each = numbers(tyto::Tensor<tyto::Eager>::uniform({4}, {.dtype = DType::f64}));
    serial.insert(serial.end(), each.begin(), each.end());
  }
  std::sort(serial.begin(), serial.end());
  CHECK(every == serial);
}

TEST_CASE("a session of what updates states is refused") {
  const Lazy steps = Lazy::variable(Lazy::zeros({}, DType::f32), "steps");
  const Lazy x = Lazy::ones({3}, DType::f32);
  const auto body = [&](Lazy v) {
    assign(steps, steps + 1.0);
    return v * steps;
  };
  auto fresh = tyto::compile(body);
  auto session = fresh.session();
  const char* const refused =
      "compile: the function updates 'steps', which one session would write while others read it; sessions are for "
      "what "
      "leaves states as they are";
  CHECK_THROWS_WITH_AS(session(x), refused, GraphError);
  CHECK(numbers(steps) == Numbers{0});
  auto called = tyto::compile(body);
  CHECK(numbers(called(x)) == Numbers{1, 1, 1});
  CHECK_THROWS_WITH_AS(called.session(), refused, GraphError);
  CHECK(numbers(called(x)) == Numbers{2, 2, 2});
  const Lazy p = Lazy::placeholder({3}, DType::f32, "p");
  tyto::Graph g{{.inputs = {p}, .outputs = {p * steps}, .updates = {{steps, steps + 1.0}}}};
  CHECK_THROWS_WITH_AS(g.session(),
                       "Graph: the graph updates 'steps', which one session would write while others read it; sessions "
                       "are for what leaves states as they are",
                       GraphError);
}

TEST_CASE("a session that runs is not called a second time") {
  std::vector<tyto::Graph> graphs;
  const Lazy x = Lazy::placeholder({}, DType::f32, "x");
  const Lazy y = tyto::delay<tyto::Lazy>({}, DType::f32,
                                         [&](const std::vector<tyto::Tensor<tyto::Eager>>& v) {
                                           graphs[0].run();
                                           return v[0];
                                         },
                                         {x});
  graphs.emplace_back(tyto::GraphSpec{.inputs = {x}, .outputs = {y}});
  graphs[0].set(x, Lazy(1.0F));
  CHECK_THROWS_WITH_AS(graphs[0].run(), doctest::Contains("the graph is used while it runs"), GraphError);
}
