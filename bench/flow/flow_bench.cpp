// SPDX-License-Identifier: MIT
// Times loops and branches: an LSTM as a scan beside the same unrolled, and an iteration beyond its kernels.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <unordered_set>

#include "core/graph/graph.hpp"

namespace {

using T = tyto::Tensor<tyto::Lazy>;
using Pair = std::pair<T, T>;
using tyto::Count;

double now() {
  timespec at{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

template <class F>
double seconds(const F& f) {
  const double start = now();
  f();
  return now() - start;
}

// The best of several rounds in turn, so that all meet the same machine.
template <class... F>
std::vector<double> best_of(int rounds, const F&... bodies) {
  std::vector<double> best(sizeof...(F), 1e30);
  for (int round = 0; round < rounds; ++round) {
    std::size_t i = 0;
    ((best[i] = std::min(best[i], seconds(bodies)), ++i), ...);
  }
  return best;
}

struct Lstm {
  std::vector<T> weights;
  std::int64_t batch, cells;

  Lstm(std::int64_t rows, std::int64_t features, std::int64_t size) : batch(rows), cells(size) {
    for (int gate = 0; gate < 4; ++gate) {
      weights.push_back(T::variable(T::normal({features, size}, {.stddev = .1})));
      weights.push_back(T::variable(T::normal({size, size}, {.stddev = .1})));
      weights.push_back(T::variable(T::zeros({size})));
    }
  }
  Pair step(const Pair& s, const T& x) const {
    const auto gate = [&](std::size_t k) {
      return matmul(x, weights[3 * k]) + matmul(s.first, weights[3 * k + 1]) + weights[3 * k + 2];
    };
    const T c = sigmoid(gate(1)) * s.second + sigmoid(gate(0)) * tanh(gate(3));
    return {sigmoid(gate(2)) * tanh(c), c};
  }
  Pair start() const { return {T::zeros({batch, cells}), T::zeros({batch, cells})}; }
  T scanned(const T& xs) const {
    return scan([&](const Pair& s, const T& x) { return std::pair(step(s, x), std::vector<T>()); }, start(), xs)
        .first.first;
  }
  T unrolled(const T& xs) const {
    Pair s = start();
    for (std::int64_t t = 0; t < xs.shape()[0]; ++t) s = step(s, xs(t));
    return s.first;
  }
};

std::size_t nodes_of(const tyto::core::Graph& graph) {
  std::size_t count = graph.nodes().size();
  for (const auto& node : graph.nodes()) {
    for (const auto& region : tyto::core::regions_of(graph.attributes(node))) count += nodes_of(region.graph());
  }
  return count;
}

// Counts the nodes recorded for a result, bodies of loops and arms of branches included.
std::size_t nodes_of(const std::vector<T>& results) {
  std::size_t count = 0;
  std::unordered_set<tyto::core::Node*> seen;
  std::vector<tyto::core::Node*> stack;
  for (const T& result : results) stack.push_back(result.value().node());
  while (!stack.empty()) {
    tyto::core::Node* node = stack.back();
    stack.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    ++count;
    for (const auto& region : tyto::core::regions_of(node->attributes())) count += nodes_of(region.graph());
    for (const tyto::Value& input : node->inputs()) stack.push_back(input.node());
  }
  return count;
}
std::size_t nodes_of(const T& result) { return nodes_of(std::vector<T>{result}); }

void report(const char* name, std::size_t nodes, const tyto::GraphReport& r, double first, double run) {
  std::printf("  %-22s made in %8.1f ms, first call %8.1f ms beside the run, run %9.3f ms, ", name, r.milliseconds,
              (first - run) * 1e3, run * 1e3);
  std::printf("%6zu nodes, %6zu steps, arena %8.3f MB\n", nodes, r.steps, static_cast<double>(r.arena_bytes) / 1e6);
}

template <class F, class G>
void compare(F scan_of, G unrolled_of, const T& x, int rounds) {
  auto scanned = tyto::compile(scan_of), unrolled = tyto::compile(unrolled_of);
  const double first_scanned = seconds([&] { scanned(x); });
  const double first_unrolled = seconds([&] { unrolled(x); });
  const auto best = best_of(
      rounds, [&] { scanned(x); }, [&] { unrolled(x); });
  report("scan", nodes_of(scan_of(x)), scanned.report(), first_scanned, best[0]);
  report("unrolled", nodes_of(unrolled_of(x)), unrolled.report(), first_unrolled, best[1]);
  std::printf("  scan / unrolled: %.3f\n", best[0] / best[1]);
}

void lstm(std::int64_t steps, bool gradients, int rounds) {
  const Lstm net(100, 40, 128);
  const T xs = T::normal({steps, 100, 40});
  tyto::eval({xs});
  const auto loss_of = [&](auto forward) {
    return [&net, forward](T x) {
      auto [loss, slopes] = tyto::value_and_grad([&](T in) { return sum(square(forward(in))); }, net.weights)(x);
      slopes.push_back(loss);
      return slopes;
    };
  };
  const auto forward_scanned = [&](T x) { return net.scanned(x); };
  const auto forward_unrolled = [&](T x) { return net.unrolled(x); };
  std::printf("LSTM, batch 100, 40 -> 128, %lld steps, %s\n", static_cast<long long>(steps),
              gradients ? "gradient" : "forward");
  if (gradients) compare(loss_of(forward_scanned), loss_of(forward_unrolled), xs, rounds);
  else compare(forward_scanned, forward_unrolled, xs, rounds);
}

// The same gradient within parts of the memory that it needs without a limit.
void limited(std::int64_t steps, int rounds) {
  Lstm net(100, 40, 128);
  net.weights[5] = T::variable(T::full({128}, 3.0));  // gates that forget slowly: no gradient becomes subnormal
  const T xs = T::normal({steps, 100, 40});
  tyto::eval({xs});
  const auto loss = [&](T x) {
    return tyto::value_and_grad([&](T in) { return sum(square(net.scanned(in))); }, net.weights)(x).second;
  };
  std::printf("LSTM, batch 100, 40 -> 128, %lld steps, gradient within a memory limit\n",
              static_cast<long long>(steps));
  auto free = tyto::compile(loss);
  free(xs);
  const std::size_t whole = free.report().arena_bytes;
  for (const std::size_t share : {50, 25, 10, 5}) {
    auto within = tyto::compile(loss, {.memory_limit = whole / 100 * share});
    const double first = seconds([&] { within(xs); });
    const auto best = best_of(
        rounds, [&] { free(xs); }, [&] { within(xs); });
    const std::string name = "within " + std::to_string(share) + " %";
    report(name.c_str(), nodes_of(loss(xs)), within.report(), first, best[1]);
    std::printf("  time beside none: %.3f\n", best[1] / best[0]);
  }
}

// The layer nn::LSTM beside the same lines unrolled: one product for the features of all times, gates side by side.
struct Layer {
  tyto::nn::LSTM lstm;

  T scanned(const T& x) const { return lstm(x); }
  T unrolled(const T& x) const {
    const std::int64_t cells = lstm.options.hidden;
    const T features = matmul(x, T(lstm.weights_in[0])) + T(lstm.biases_in[0]);
    T h = T::zeros({x.shape()[0], cells}), c = h;
    std::vector<T> outputs;
    for (const T& row : rows_of(features)) {
      const auto gates = split(row + (matmul(h, T(lstm.weights_hidden[0])) + T(lstm.biases_hidden[0])), 4, 1);
      c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
      h = sigmoid(gates[3]) * tanh(c);
      outputs.push_back(h);
    }
    return stack(outputs, 1);
  }

 private:
  // Halved, and halved again: the gradient of a part is as large as the whole.
  static std::vector<T> rows_of(const T& x) {
    if (x.shape()[1] == 1) return {squeeze(x, 1)};
    std::vector<T> rows;
    for (const T& half : split(x, {x.shape()[1] / 2}, 1)) {
      for (const T& row : rows_of(half)) rows.push_back(row);
    }
    return rows;
  }
};

void layer(std::int64_t batch, std::int64_t features, std::int64_t cells, std::int64_t steps, bool gradients,
           int rounds) {
  const Layer net{tyto::nn::LSTM({.in = features, .hidden = cells})};
  const T x = T::normal({batch, steps, features});
  tyto::eval({x});
  std::vector<T> parameters;
  for (const auto* list :
       {&net.lstm.weights_in, &net.lstm.weights_hidden, &net.lstm.biases_in, &net.lstm.biases_hidden}) {
    for (const auto& each : *list) parameters.emplace_back(each);
  }
  const auto loss_of = [&](auto forward) {
    return [&parameters, forward](T in) {
      auto [loss, slopes] = tyto::value_and_grad([&](T each) { return sum(square(forward(each))); }, parameters)(in);
      slopes.push_back(loss);
      return slopes;
    };
  };
  const auto scanned = [&](T in) { return net.scanned(in); };
  const auto unrolled = [&](T in) { return net.unrolled(in); };
  std::printf("nn::LSTM, batch %lld, %lld -> %lld, %lld steps, %s\n", static_cast<long long>(batch),
              static_cast<long long>(features), static_cast<long long>(cells), static_cast<long long>(steps),
              gradients ? "gradient" : "forward");
  if (gradients) compare(loss_of(scanned), loss_of(unrolled), x, rounds);
  else compare(scanned, unrolled, x, rounds);
}

void print_line(const char* name, double time, std::size_t moved) {
  std::printf("  %-58s %9.1f ns an iteration, %zu bytes moved in it\n", name, time, moved);
}

template <class F>
std::size_t moved_by(const F& f) {
  std::size_t bytes = 0;
  for (const tyto::MovedBytes& each : f.report().moved) bytes += each.per_iteration;
  return bytes;
}

// The seconds that an iteration takes.
template <class F>
double iterations(const char* name, std::int64_t count, const T& x, F loop, const tyto::CompileOptions& options = {}) {
  auto f = tyto::compile([&](T n, T in) { return loop(n, in); }, options);
  const T n = T::full({}, static_cast<double>(count), tyto::DType::i64);
  f(n, x);
  const double best = best_of(7, [&] { f(n, x); })[0] / static_cast<double>(count);
  print_line(name, best * 1e9, moved_by(f));
  return best;
}

void per_iteration() {
  std::printf("an iteration\n");
  const auto counted = [](auto body) {
    return [body](const T& n, const T& x) {
      return fori_loop(Count(0), Count(n), x, [&](const T&, const T& c) { return body(c); });
    };
  };
  const T scalar = T::full({}, 0.5);
  const T line = T::normal({128});
  const T page = T::normal({4096});
  const T matrix = T::normal({4, 4}, {.stddev = 0.1});
  iterations("scalar x * a + b, counted", 200000, scalar, counted([](const T& c) { return c * 0.999 + 0.5; }));
  // Each operator a kernel of its own, so that a longer body shows what a kernel takes, and the rest is the control.
  const tyto::CompileOptions apart{.passes = "none"};
  const double two =
      iterations("scalar, 2 kernels", 200000, scalar, counted([](const T& c) { return sin(sin(c)); }), apart);
  const double eight = iterations("scalar, 8 kernels", 200000, scalar, counted([](const T& c) {
                                    T x = c;
                                    for (int i = 0; i < 8; ++i) x = sin(x);
                                    return x;
                                  }),
                                  apart);
  std::printf("  a kernel %.1f ns, the control step %.1f ns\n", (eight - two) / 6 * 1e9,
              (two - (eight - two) / 3) * 1e9);
  iterations("scalar, while on a value", 200000, scalar, [](const T& n, const T&) {
    const T limit = n.astype(tyto::DType::f32);
    return while_loop(
        T::full({}, 0.0), [&](const T& c) { return c < limit; }, [](const T& c) { return c + 1.0; });
  });
  iterations("f32[128] tanh", 100000, line, counted([](const T& c) { return tanh(c); }));
  iterations("f32[4,4] product", 100000, matrix, counted([&](const T& c) { return matmul(c, matrix); }));
  // Four places of 1,024 numbers fit a cache of 32 KiB, four of 4,096 do not.
  const auto delayed = [](const T& n, const T& x) {
    using List = std::vector<T>;
    return fori_loop(Count(0), Count(n), List{x, x, x}, [](const T&, const List& c) {
      return List{c[1], c[2], tanh(c[0])};
    })[2];
  };
  const T part = T::normal({1024});
  iterations("f32[1024] tanh", 80000, part, counted([](const T& c) { return tanh(c); }));
  iterations("f32[1024] tanh, delayed by 3", 80000, part, delayed);
  iterations("f32[4096] tanh", 20000, page, counted([](const T& c) { return tanh(c); }));
  iterations("f32[4096] tanh, delayed by 3", 20000, page, delayed);
  iterations("f32[4096] tanh on even, passed through on odd iterations", 20000, page, [](const T& n, const T& x) {
    return fori_loop(Count(0), Count(n), x, [](const T& i, const T& c) {
      return cond(
          i % 2 == 0, [&] { return tanh(c); }, [&] { return c; });
    });
  });
  for (const std::int64_t length : {256, 10000}) {  // within the caches, and beyond
    const T rows = T::normal({length, 128});
    auto scanned = tyto::compile([&](T xs) {
      return scan([](const T& c, const T& x) { return Pair(tanh(c + x), c); }, T::zeros({128}), xs).second;
    });
    scanned(rows);
    const int times = length == 256 ? 40 : 1;
    const double best = best_of(7, [&] {
      for (int i = 0; i < times; ++i) scanned(rows);
    })[0];
    const std::string name = "scan f32[128], " + std::to_string(length) + " rows in and out";
    print_line(name.c_str(), best * 1e9 / static_cast<double>(length * times), moved_by(scanned));
  }
}

// oneDNN generates the code of all its products when a process first multiplies by it: no cost of the call that does.
// Which product that is depends on the processor, on shapes and on which operand is transposed.
void first_products() {
  const T a = T::normal({256, 256}), b = T::normal({100, 128});
  tyto::eval({a, b});
  const double time = seconds([&] {
    tyto::eval({matmul(a, a), matmul(a.T(), a), matmul(a, a.T()), matmul(b.T(), b), matmul(b, b.T())});
  });
  std::printf("the process's first products of matrices: %.1f ms\n", time * 1e3);
}

constexpr char usage[] = "usage: flow_bench [ROUNDS [lstm] [long] [limited] [layers] [iterations]]\n";

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 10;
  const std::vector<std::string> chosen(arguments + std::min(count, 2), arguments + count);
  if (rounds < 1) {
    std::fputs(usage, stderr);
    return 2;
  }
  // Without a choice all but those of 1,000 steps unrolled, which take a minute.
  const auto wants = [&](const char* section) {
    return chosen.empty() ? std::string(section) != "long" : std::ranges::find(chosen, section) != chosen.end();
  };
  tyto::threads(1);
  first_products();
  if (wants("lstm")) {
    lstm(50, false, rounds);
    lstm(50, true, rounds);
  }
  if (wants("long")) {
    lstm(1000, false, 3);
    lstm(1000, true, 2);
  }
  if (wants("limited")) limited(1000, 3);
  for (const bool gradients : {false, true}) {
    if (!wants("layers")) break;
    layer(100, 40, 128, 50, gradients, rounds);
    layer(1, 128, 192, 100, gradients, rounds);
    layer(16, 192, 512, 30, gradients, rounds);
  }
  if (wants("iterations")) per_iteration();
}
