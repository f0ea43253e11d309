// Loops and branches: an LSTM as a scan beside the same unrolled, and what an iteration costs beyond its kernels.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

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

void report(const char* name, const tyto::GraphReport& r, double first, double run) {
  std::printf("  %-22s first call %8.1f ms beside the run, run %9.3f ms, %6zu nodes, %6zu steps, arena %8.3f MB\n",
              name, (first - run) * 1e3, run * 1e3, r.passes.nodes_before, r.steps,
              static_cast<double>(r.arena_bytes) / 1e6);
}

template <class F, class G>
void compare(F scanned, G unrolled, const T& x, int rounds) {
  const double first_scanned = seconds([&] { scanned(x); });
  const double first_unrolled = seconds([&] { unrolled(x); });
  const auto best = best_of(
      rounds, [&] { scanned(x); }, [&] { unrolled(x); });
  report("scan", scanned.report(), first_scanned, best[0]);
  report("unrolled", unrolled.report(), first_unrolled, best[1]);
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
  if (gradients) {
    compare(tyto::compile(loss_of(forward_scanned)), tyto::compile(loss_of(forward_unrolled)), xs, rounds);
  } else {
    compare(tyto::compile(forward_scanned), tyto::compile(forward_unrolled), xs, rounds);
  }
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
    report(name.c_str(), within.report(), first, best[1]);
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
  if (gradients) compare(tyto::compile(loss_of(scanned)), tyto::compile(loss_of(unrolled)), x, rounds);
  else compare(tyto::compile(scanned), tyto::compile(unrolled), x, rounds);
}

template <class F>
void iterations(const char* name, std::int64_t count, const T& x, F loop) {
  auto f = tyto::compile([&](T n, T in) { return loop(n, in); });
  const T n = T::full({}, static_cast<double>(count), tyto::DType::i64);
  f(n, x);
  const double best = best_of(7, [&] { f(n, x); })[0];
  std::printf("  %-58s %9.1f ns an iteration\n", name, best * 1e9 / static_cast<double>(count));
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
  iterations("scalar, while on a value", 200000, scalar, [](const T& n, const T&) {
    const T limit = n.astype(tyto::DType::f32);
    return while_loop(
        T::full({}, 0.0), [&](const T& c) { return c < limit; }, [](const T& c) { return c + 1.0; });
  });
  iterations("f32[128] tanh", 100000, line, counted([](const T& c) { return tanh(c); }));
  iterations("f32[4,4] product", 100000, matrix, counted([&](const T& c) { return matmul(c, matrix); }));
  iterations("f32[4096] tanh", 20000, page, counted([](const T& c) { return tanh(c); }));
  iterations("f32[4096] tanh, delayed by 3", 20000, page, [](const T& n, const T& x) {
    using List = std::vector<T>;
    return fori_loop(Count(0), Count(n), List{x, x, x}, [](const T&, const List& c) {
      return List{c[1], c[2], tanh(c[0])};
    })[2];
  });
  iterations("f32[4096] tanh on even, passed through on odd iterations", 20000, page, [](const T& n, const T& x) {
    return fori_loop(Count(0), Count(n), x, [](const T& i, const T& c) {
      return cond(
          i % 2 == 0, [&] { return tanh(c); }, [&] { return c; });
    });
  });
  const T rows = T::normal({10000, 128});
  auto scanned = tyto::compile([&](T xs) {
    return scan([](const T& c, const T& x) { return Pair(tanh(c + x), c); }, T::zeros({128}), xs).second;
  });
  scanned(rows);
  std::printf("  %-58s %9.1f ns an iteration\n", "scan f32[128] with rows in and out",
              best_of(7, [&] { scanned(rows); })[0] * 1e9 / 10000);
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 10;
  tyto::threads(1);
  lstm(50, false, rounds);
  lstm(50, true, rounds);
  limited(1000, 3);
  if (count > 2 && std::string(arguments[2]) == "long") {
    lstm(1000, false, 3);
    lstm(1000, true, 2);
  }
  for (const bool gradients : {false, true}) {
    layer(100, 40, 128, 50, gradients, rounds);
    layer(1, 128, 192, 100, gradients, rounds);
    layer(16, 192, 512, 30, gradients, rounds);
  }
  per_iteration();
}
