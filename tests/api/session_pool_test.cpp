// SPDX-License-Identifier: MIT
// Pools of sessions: calls from any thread, calls that wait put together, threads of one call.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <tuple>
#include <tyto/sessions.hpp>
#include <tyto/tyto.hpp>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tests/support/clients.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/two_layers.hpp"

using tyto::DType;
using tyto::GraphError;
using tyto::SessionPool;
using tyto::ShapeError;
using tyto::ThreadLimit;
using tyto::ValueError;
using namespace tyto_test;

BOTH_MODES("any thread calls a pool of sessions") {
  using Tensor = tyto::Tensor<Mode>;
  const TwoLayers<Tensor> layers;
  auto f = tyto::compile([&](Tensor x) { return layers(x); });
  SessionPool pool(f, {.sessions = 3});
  CHECK(pool.options().sessions == 3);
  CHECK(pool.options().threads == std::max(1, tyto::threads() / 3));
  CHECK(by_clients([&](int client) {
          for (int call = 0; call < calls_each; ++call) {
            if (numbers(pool(input_of_call<Tensor>(client, call))) != two_layers_of_call(client, call)) return false;
          }
          return true;
        }) == "");
}

BOTH_MODES("calls that wait are put together") {
  using Tensor = tyto::Tensor<Mode>;
  const TwoLayers<Tensor> layers;
  auto f = tyto::compile([&](Tensor x) { return layers(x); });
  SUBCASE("while no session is free") {
    SessionPool pool(f, {.sessions = 1, .batch = 8});
    CHECK(by_clients([&](int client) {
            for (int call = 0; call < calls_each; ++call) {
              const std::int64_t rows = 1 + call % 3;
              if (numbers(pool(input_of_call<Tensor>(client, call, rows))) != two_layers_of_call(client, call, rows))
                return false;
            }
            return true;
          }) == "");
  }
  SUBCASE("until there are enough: the first would wait for half a minute") {
    SessionPool pool(f, {.sessions = 8, .batch = clients, .wait_us = 30'000'000});
    CHECK(by_clients([&](int client) {
            return numbers(pool(input_of_call<Tensor>(client, client))) == two_layers_of_call(client, client);
          }) == "");
  }
  SUBCASE("no more rows than asked for, where one call has more") {
    SessionPool pool(f, {.sessions = 1, .batch = 2});
    CHECK(numbers(pool(input_of_call<Tensor>(0, 0, 5))) == two_layers_of_call(0, 0, 5));
  }
}

BOTH_MODES("arguments and results of calls that are put together may be tuples and lists") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](std::vector<Tensor> v, Tensor w) {
    return std::tuple(v[0] + w, std::vector{v[1] * w, w});
  });
  SessionPool pool(f, {.sessions = 1, .batch = clients, .wait_us = 30'000'000});
  CHECK(by_clients([&](int client) {
          const double c = client;
          const auto [sum, list] =
              pool(std::vector{Tensor::full({1, 2}, c, DType::f32), Tensor::full({1}, c, DType::f64)},
                   Tensor::full({1, 2}, 10.0, DType::f32).sum(1) * 0.5);
          return numbers(sum) == Numbers{c + 10, c + 10} && numbers(list[0]) == Numbers{c * 10} &&
                 numbers(list[1]) == Numbers{10};
        }) == "");
}

BOTH_MODES("what one call throws no other call sees") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor table = Tensor::arange(10).astype(DType::f32).reshape({10, 1});
  auto f = tyto::compile([&](Tensor indices) { return take(table, indices, 0); });
  SessionPool pool(f, {.sessions = 1, .batch = clients, .wait_us = 30'000'000});
  std::atomic<int> refused = 0;
  CHECK(by_clients([&](int client) {
          const std::int64_t index = client == 3 ? 77 : client;
          try {
            return numbers(pool(Tensor::full({1}, index, DType::i64))) == Numbers{static_cast<double>(index)};
          } catch (const tyto::IndexError&) {
            ++refused;
            return client == 3;
          }
        }) == "");
  CHECK(refused == 1);
}

BOTH_MODES("a function that takes one row alone is called with one row, and nobody waits from the second call on") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return x.reshape({1, 3}) * 2.0; });
  SessionPool pool(f, {.sessions = 2, .batch = clients, .wait_us = 30'000'000});
  CHECK(by_clients([&](int client) {
          for (int call = 0; call < 3; ++call) {
            const double c = client + 10 * call;
            if (numbers(pool(Tensor::full({1, 3}, c, DType::f32))) != Numbers(3, 2 * c)) return false;
          }
          return true;
        }) == "");
}

BOTH_MODES("calls of other shapes and types are not put together") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return x * 2.0; });
  SessionPool pool(f, {.sessions = 1, .batch = 2, .wait_us = 30'000'000});
  // Pairs of clients whose calls are alike; each waits for its twin.
  CHECK(by_clients([&](int client) {
          const int kind = client / 2;
          const Tensor x = Tensor::full({1, 1 + kind % 2}, client, kind < 2 ? DType::f32 : DType::f64);
          const Tensor y = pool(x);
          return y.shape() == x.shape() && y.dtype() == x.dtype() && numbers(y)[0] == 2.0 * client;
        }) == "");
}

BOTH_MODES("a pool says what it cannot put together") {
  using Tensor = tyto::Tensor<Mode>;
  auto whole = tyto::compile([](Tensor x) { return x.sum(); });
  SessionPool pool(whole, {.sessions = 1, .batch = 4});
  CHECK_THROWS_WITH_AS(pool(Tensor::ones({1, 3})),
                       "SessionPool: result 1 of a run of 1 rows has shape (), where each row of the arguments should "
                       "have a row of it; give .batch = 1 for such a function",
                       GraphError);
  const char* const no_rows =
      "SessionPool: an argument has no rows, or not as many as the first: with .batch calls are put together along the "
      "first axis of all arguments";
  CHECK_THROWS_WITH_AS(pool(Tensor::ones({})), no_rows, ShapeError);
  CHECK_THROWS_WITH_AS(pool(Tensor::ones({0, 3})), no_rows, ShapeError);
  CHECK_THROWS_WITH_AS(pool(Tensor()), doctest::Contains("SessionPool"), GraphError);
  SessionPool alone(whole, {.sessions = 1});
  CHECK(numbers(alone(Tensor::ones({1, 3}))) == Numbers{3});
}

BOTH_MODES("a call of a pool that runs alone has the rows that it was given") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return x - x.mean(0); });
  SessionPool pool(f, {.sessions = 1, .batch = 4});
  CHECK(numbers(pool(Tensor{{1.0}, {2.0}, {6.0}})) == std::vector<double>{-2, -1, 3});
}

namespace {

// Calls pool(argument_of(client)) by all clients at once; gives each client's results.
template <class Pool, class Make>
auto called_together(Pool& pool, Make argument_of) {
  std::vector<decltype(pool(argument_of(0)))> results(clients);
  CHECK(by_clients([&](int client) {
          results[static_cast<std::size_t>(client)] = pool(argument_of(client));
          return true;
        }) == "");
  return results;
}

}  // namespace

BOTH_MODES("a function that mixes rows gives each call what it gives alone") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([&](Tensor x) {
    return std::tuple(x * 2.0, tyto::concat({x - x.mean(0), Tensor::full({x.shape()[0], 1}, 1e9)}, 1));
  });
  SessionPool pool(f, {.sessions = 1, .batch = clients, .wait_us = 30'000'000});
  const auto check = [&](const auto& results) {
    for (int client = 0; client < clients; ++client) {
      const auto& [twice, centred] = results[static_cast<std::size_t>(client)];
      CHECK(numbers(twice) == Numbers{2.0 * client});
      CHECK(numbers(centred) == Numbers{0, 1e9});
    }
  };
  const auto row = [](int client) { return Tensor::full({1, 1}, client, DType::f64); };
  // The same rows tell nothing, so that they are not put together.
  for (const auto& [twice, centred] : called_together(pool, [&](int) { return row(3); })) {
    CHECK(numbers(centred) == Numbers{0, 1e9});
  }
  check(called_together(pool, row));
  // From now on nobody waits for others: the last of fewer clients than a batch would wait for half a minute.
  const auto [twice, centred] = pool(row(5));
  CHECK(numbers(twice) == Numbers{10});
  check(called_together(pool, row));
}

BOTH_MODES("calls with equal arguments give what they give alone") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return x / x.sum(0); });
  SessionPool pool(f, {.sessions = 1, .batch = clients, .wait_us = 30'000'000});
  for (const Tensor& share : called_together(pool, [](int) { return Tensor::full({1, 1}, 3.0, DType::f64); })) {
    CHECK(numbers(share) == Numbers{1});
  }
}

BOTH_MODES("a function that mixes rows is known whatever else its results hold") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) {
    return std::tuple(x - x.mean(0), Tensor::uniform(x.shape()), x * std::numeric_limits<double>::infinity());
  });
  for (const double first : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    SessionPool pool(f, {.sessions = 1, .batch = clients, .wait_us = 30'000'000});
    const auto results = called_together(pool, [&](int client) {
      return Tensor::full({1, 2}, client == 0 ? first : client, DType::f64);
    });
    for (std::size_t client = 1; client < clients; ++client) {
      CHECK(numbers(std::get<0>(results[client])) == Numbers{0, 0});
    }
  }
}

BOTH_MODES("a product of rows with all rows gives each call its own") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return matmul(x, transpose(x)); });
  SessionPool pool(f, {.sessions = 1, .batch = 2 * clients, .wait_us = 30'000'000});
  const auto results = called_together(pool, [](int client) { return Tensor::full({2, 3}, client, DType::f64); });
  for (int client = 0; client < clients; ++client) {
    CHECK(results[static_cast<std::size_t>(client)].shape() == tyto::Shape{2, 2});
    CHECK(numbers(results[static_cast<std::size_t>(client)]) == Numbers(4, 3.0 * client * client));
  }
}

BOTH_MODES("calls that draw random numbers, give NaN or integers are put together") {
  using Tensor = tyto::Tensor<Mode>;
  // Rows of each run; eager mode runs the function, lazy mode records it, once for each number of rows.
  std::vector<std::int64_t> rows;
  auto f = tyto::compile([&](Tensor x) {
    rows.push_back(x.shape()[0]);
    return std::tuple(x + Tensor::uniform(x.shape()), x / 0.0, argmax(x, 1));
  });
  SessionPool pool(f, {.sessions = 1, .batch = clients, .wait_us = 30'000'000});
  for (int call = 0; call < 2; ++call) {
    const auto results = called_together(pool, [](int client) {
      const double c = client;
      return Tensor::from(std::vector<double>{c, -c, 0}, {1, 3});
    });
    for (int client = 0; client < clients; ++client) {
      const auto& [drawn, infinite, largest] = results[static_cast<std::size_t>(client)];
      const Numbers given{1.0 * client, -1.0 * client, 0};
      for (std::size_t i = 0; i < 3; ++i) {
        const double part = numbers(drawn)[i] - given[i];
        CHECK((part >= 0 && part <= 1));
      }
      CHECK(std::isnan(numbers(infinite)[2]));
      CHECK(numbers(largest) == Numbers{0});
    }
  }
  CHECK(std::ranges::count(rows, clients) == std::ssize(rows));
}

BOTH_MODES("a function of one batch size is called with it") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) {
    if (x.shape()[0] != clients) throw ShapeError("the batch is as large as the file says");
    return x * 2.0;
  });
  SessionPool pool(f, {.sessions = 1, .batch = clients, .wait_us = 30'000'000});
  for (int call = 0; call < 2; ++call) {
    const auto results = called_together(pool, [](int client) { return Tensor::full({1, 2}, client, DType::f64); });
    for (int client = 0; client < clients; ++client) {
      CHECK(numbers(results[static_cast<std::size_t>(client)]) == Numbers(2, 2.0 * client));
    }
  }
}

BOTH_MODES("who keeps the result of one call does not keep those of the others") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return x * 2.0; });
  SessionPool pool(f, {.sessions = 1, .batch = clients, .wait_us = 30'000'000});
  std::atomic<int> views = 0;
  CHECK(by_clients([&](int client) {
          const Tensor y = pool(Tensor::full({1, 100}, client, DType::f32));
          if (tyto::describe(y).layout->is_view) ++views;
          return numbers(y) == Numbers(100, 2.0 * client);
        }) == "");
  CHECK(views == 0);
}

TEST_CASE("callers that wait get sessions in the order in which they asked") {
  using Tensor = tyto::Tensor<tyto::Eager>;
  constexpr int callers = 8;
  // A thread may be late for reasons of its own, but hardly in each of ten rounds; eight callers in another order than
  // that of a queue are in order once in 40,320 rounds.
  bool in_order = false;
  for (int round = 0; round < 10 && !in_order; ++round) {
    std::vector<int> order;
    std::atomic<bool> all_wait = false;
    std::atomic<int> asked = 0;
    auto f = tyto::compile([&](Tensor x) {
      while (!all_wait) std::this_thread::yield();
      order.push_back(x.template item<int>());
      return x;
    });
    SessionPool pool(f, {.sessions = 1});
    std::vector<std::thread> threads;
    for (int caller = 0; caller < callers; ++caller) {
      threads.emplace_back([&, caller] {
        const Tensor x(caller);
        ++asked;
        (void)pool(x);
      });
      while (asked <= caller) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    all_wait = true;
    for (std::thread& each : threads) each.join();
    in_order = std::ranges::is_sorted(order);
  }
  CHECK(in_order);
}

BOTH_MODES("gradients go through a pool that puts calls together") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return x * x; });
  SessionPool pool(f, {.sessions = 1, .batch = 4});
  const Tensor x{{3.0}};
  CHECK(numbers(tyto::grad([&](const Tensor& y) { return pool(y).sum(); })(x)) == std::vector<double>{6});
}

TEST_CASE("a compiled function may call a pool") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  auto f = tyto::compile([](Tensor x) { return x * x; });
  SessionPool pool(f, {.sessions = 1, .batch = 4});
  auto g = tyto::compile([&](Tensor x) { return pool(x) + 1.0; });
  CHECK(numbers(g(Tensor{{3.0}})) == std::vector<double>{10});
}

TEST_CASE("a pool refuses options without a meaning") {
  auto f = tyto::compile([](tyto::Tensor<tyto::Lazy> x) { return x; });
  using Pool = SessionPool<decltype(f)>;
  CHECK_THROWS_WITH_AS(Pool(f, {.sessions = -1}), "SessionPool: sessions must be 0 or more, got -1", ValueError);
  CHECK_THROWS_WITH_AS(Pool(f, {.threads = -2}), "SessionPool: threads must be 0 or more, got -2", ValueError);
  CHECK_THROWS_WITH_AS(Pool(f, {.batch = 0}), "SessionPool: batch must be 1 or more, got 0", ValueError);
  CHECK_THROWS_WITH_AS(Pool(f, {.wait_us = -5}), "SessionPool: wait_us must be 0 or more, got -5", ValueError);
}

BOTH_MODES("a limit of threads is its thread's own, and numbers are the same within it") {
  using Tensor = tyto::Tensor<Mode>;
  const int before = tyto::threads();
  const auto computed = [] {
    const Tensor x = Tensor::arange(90000).astype(DType::f32).reshape({300, 300}) * 1e-4;
    return numbers(matmul(tanh(x), x).sum(1));
  };
  tyto::threads(4);
  const Numbers free = computed();
  const int given = tyto::threads();
  {
    const ThreadLimit limit(2);
    CHECK(tyto::threads() == std::min(2, given));
    {
      const ThreadLimit wider(3);
      CHECK(tyto::threads() == std::min(2, given));
    }
    const ThreadLimit one(1);
    CHECK(tyto::threads() == 1);
    CHECK(computed() == free);
    int elsewhere = 0;
    std::thread([&] { elsewhere = tyto::threads(); }).join();
    CHECK(elsewhere == given);
  }
  CHECK(tyto::threads() == given);
  tyto::threads(before);
  CHECK_THROWS_WITH_AS(ThreadLimit(0), "ThreadLimit: must be 1 or more, got 0", ValueError);
}
