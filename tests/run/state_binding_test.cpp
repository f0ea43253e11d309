// SPDX-License-Identifier: MIT
// States stay bound to a session from call to call, until somebody else obtains them or gives them other contents.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <thread>
#include <tyto/tyto.hpp>
#include <vector>

#include "core/graph/builder.hpp"
#include "core/graph/released_versions.hpp"
#include "core/graph/symbol.hpp"
#include "engine/graph/state.hpp"

namespace tyto {
namespace {

using Numbers = std::vector<float>;

template <class M>
auto adding_to(Tensor<M>& w) {
  return compile([&w](Tensor<M> x) {
    assign(w, w + x);
    return sum(w);
  });
}

const core::State& state_of(const Tensor<Lazy>& w) { return *run::state_behind(w.value(), "test"); }

}  // namespace

TEST_CASE("a state that only one compiled function uses is bound once") {
  using L = Tensor<Lazy>;
  L w = L::variable(L{1.0, 2.0});
  auto step = adding_to(w);
  const L x{1.0, 10.0};
  CHECK(step(x).item<float>() == 14);
  const std::uint64_t accesses = state_of(w).accesses();
  const std::uint64_t revision = state_of(w).revision();
  for (int i = 2; i < 6; ++i) CHECK(step(x).item<float>() == 3 + 11 * i);
  CHECK(state_of(w).accesses() == accesses);
  CHECK(state_of(w).revision() == revision + 4);
  CHECK(w.template to_vector<float>() == Numbers{6, 52});
  CHECK(state_of(w).accesses() > accesses);
}

TEST_CASE_TEMPLATE("what is read of a state between calls keeps its numbers through later calls", M, Eager, Lazy) {
  using T = Tensor<M>;
  T w = T::variable(T{1.0, 2.0});
  auto step = adding_to(w);
  const T x{1.0, 10.0};
  step(x);
  step(x);
  const T copy = w + 0.0;                      // recorded in lazy mode, and computed after more calls
  const T value(core::resolve(w.value()));     // the version itself
  const auto span = w.template data<float>();  // memory that a reader was given
  const Numbers now(span.begin(), span.end());
  step(x);
  step(x);
  CHECK(now == Numbers{3, 22});
  CHECK(Numbers(span.begin(), span.end()) == Numbers{3, 22});
  CHECK(copy.template to_vector<float>() == Numbers{3, 22});
  CHECK(value.template to_vector<float>() == Numbers{3, 22});
  CHECK(w.template to_vector<float>() == Numbers{5, 42});
}

TEST_CASE_TEMPLATE("what is assigned between calls is used by the next one", M, Eager, Lazy) {
  using T = Tensor<M>;
  T w = T::variable(T{1.0, 2.0});
  auto step = adding_to(w);
  auto total = compile([&w](T x) { return sum(w * x); });
  const T x{1.0, 10.0};
  for (int i = 0; i < 3; ++i) {
    step(x);
    CHECK(total(x).template item<float>() == doctest::Approx(21 + 101 * (i + 1)));
  }
  T source{100.0, 200.0};
  assign(w, source);
  CHECK(total(x).template item<float>() == 2100);
  step(x);
  step(x);
  CHECK(source.template to_vector<float>() == Numbers{100, 200});
  CHECK(total(x).template item<float>() == 102 + 2200);
  assign(w, w * 2.0);
  step(x);
  CHECK(w.template to_vector<float>() == Numbers{205, 450});
  w(0) = 7.0;
  CHECK(total(x).template item<float>() == 7 + 4500);
}

TEST_CASE_TEMPLATE("two functions that update the same states take turns", M, Eager, Lazy) {
  using T = Tensor<M>;
  T w = T::variable(T{1.0, 2.0}), v = T::variable(T{0.0, 0.0});
  auto add = compile([&](T x) {
    assign(w, w + x);
    return sum(v);
  });
  auto move = compile([&](T x) {
    assign(v, w + x);
    return sum(w);
  });
  const T one{1.0, 1.0};
  float first = 1, second = 2, sum_of_v = 0;
  for (int i = 0; i < 5; ++i) {
    CHECK(add(one).template item<float>() == sum_of_v);
    first += 1;
    second += 1;
    if (i == 2) continue;
    CHECK(move(one).template item<float>() == first + second);
    sum_of_v = first + second + 2;
  }
  CHECK(w.template to_vector<float>() == Numbers{6, 7});
  CHECK(v.template to_vector<float>() == Numbers{7, 8});
}

TEST_CASE("functions that use the same states in turns copy them once at most") {
  using L = Tensor<Lazy>;
  L w = L::variable(L{1.0, 2.0});
  auto step = adding_to(w);
  auto total = compile([&w](L x) { return sum(w * x); });
  auto twice = compile([&w](L x) {
    assign(w, w + x * 2.0);
    return w * 1.0;
  });
  const auto address = [&w] { return core::contents_of(core::resolve(w.value())).buffer->memory(); };
  const L x{1.0, 10.0};
  const void* home = nullptr;
  for (int i = 1; i < 8; ++i) {
    step(x);
    for (int again = 0; again < 2; ++again) CHECK(total(x).item<float>() == doctest::Approx(21 + 101 * (3 * i - 2)));
    CHECK(twice(x).to_vector<float>() == Numbers{1 + 3 * static_cast<float>(i), 2 + 30 * static_cast<float>(i)});
    if (i == 3) home = address();
    if (i > 3) CHECK(address() == home);
  }
}

TEST_CASE("calls with batches of two lengths copy no state where the length changes") {
  using L = Tensor<Lazy>;
  const std::int64_t count = 1 << 18;
  L w = L::variable(L::ones({count}));
  auto step = compile([&w](L x) { assign(w, w * 0.5 + mean(x)); });
  const L full = L::ones({32}), last = L::ones({20});
  eval({full, last});
  const auto allocated = [] {
    std::size_t bytes = 0;
    for (const DeviceInfo& device : devices()) bytes += device.allocated;
    return bytes;
  };
  step(full);
  const std::size_t bytes = allocated();
  for (int epoch = 0; epoch < 3; ++epoch) {
    step(last);
    CHECK(allocated() < bytes + count);  // a copy has 4 * count
    step(full);
    CHECK(allocated() < bytes + count);
  }
  CHECK(w(0).item<float>() == doctest::Approx(2 - std::pow(0.5, 7)));
}

TEST_CASE_TEMPLATE("a state that another thread reads between calls is not written under it", M, Eager, Lazy) {
  using T = Tensor<M>;
  T w = T::variable(T{1.0, 2.0});
  auto step = adding_to(w);
  const T x{1.0, 10.0};
  step(x);
  std::optional<T> seen;
  std::thread([&] { seen = w + 0.0; }).join();
  step(x);
  step(x);
  CHECK(seen->template to_vector<float>() == Numbers{2, 12});
  CHECK(w.template to_vector<float>() == Numbers{4, 32});
}

TEST_CASE("a state of an expression of a placeholder is computed anew for each call") {
  using L = Tensor<Lazy>;
  L p = L::placeholder({2}), w = L::variable(L{0.0, 0.0});
  assign(p, L{1.0, 2.0});
  assign(w, p * 10.0);
  auto total = compile([&w](L x) { return sum(w * x); });
  const L x{1.0, 1.0};
  CHECK(total(x).item<float>() == 30);
  assign(p, L{3.0, 4.0});
  CHECK(total(x).item<float>() == 70);
  CHECK(total(x).item<float>() == 70);
}

TEST_CASE("graphs and compiled functions that share states run in turns") {
  using L = Tensor<Lazy>;
  L w = L::variable(L{1.0, 2.0});
  L x = L::placeholder({2});
  const L y = w * x, next = w + x;
  Graph graph({.inputs = {x}, .outputs = {y}, .updates = {{w, next}}});
  auto step = adding_to(w);
  graph.set(x, L{1.0, 1.0});
  for (int i = 0; i < 3; ++i) {
    graph.run();
    CHECK(graph[y].to_vector<float>() == Numbers{1.0F + 3 * static_cast<float>(i), 2.0F + 3 * static_cast<float>(i)});
    CHECK(step(L{2.0, 2.0}).item<float>() == 9 + 6 * static_cast<float>(i));
  }
  graph.run();
  graph.run();
  CHECK(graph[y].to_vector<float>() == Numbers{11, 12});
  CHECK(w.to_vector<float>() == Numbers{12, 13});
}

TEST_CASE("sessions that read the same states at once see what is assigned between their calls") {
  using L = Tensor<Lazy>;
  L w = L::variable(L{1.0, 2.0});
  auto total = compile([&w](L x) { return sum(w * x); });
  auto other = total.session();
  const L x{1.0, 10.0};
  eval({x});
  for (float k = 1; k < 4; ++k) {
    assign(w, L{1.0, 2.0} * k);
    std::vector<std::thread> threads;
    std::vector<float> got(2);
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) got[0] = total(x).item<float>();
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) got[1] = other(x).item<float>();
    });
    for (std::thread& thread : threads) thread.join();
    CHECK(got == Numbers{21 * k, 21 * k});
  }
}

}  // namespace tyto
