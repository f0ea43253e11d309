// SPDX-License-Identifier: MIT
// Small programs as a user would write them, compiled, on one thread, beside JAX: a scalar step, option prices, bodies
// that attract each other, the Mandelbrot set. Both compute on the same numbers, and their results are compared.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tyto/tyto.hpp>

namespace {

using tyto::all;
using tyto::newaxis;
using Tensor = tyto::Tensor<tyto::Lazy>;

/// Seconds of one call: the fastest of several rounds.
double fastest(const std::function<void()>& call) {
  const auto seconds = [&](int calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  call();
  const int calls = static_cast<int>(std::clamp(0.05 / std::max(seconds(1), 1e-9), 1.0, 20000.0));
  double best = seconds(calls);
  for (int round = 0; round < 7; ++round) best = std::min(best, seconds(calls));
  return best / calls;
}

/// Numbers spread over [low, high], the same in both systems.
Tensor spread(tyto::Shape shape, double low, double high, double offset = 0) {
  std::vector<float> values(static_cast<std::size_t>(tyto::element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double part = std::fmod((static_cast<double>(i) + offset) * 0.6180339887498949, 1.0);
    values[i] = static_cast<float>(low + (high - low) * part);
  }
  return Tensor::from(values, shape);
}

struct Figure {
  double microseconds = 0, checksum = 0;
};
using Figures = std::map<std::string, Figure>;

Figure scalar_step() {
  auto step = tyto::compile([](Tensor x, Tensor a, Tensor b) { return x * a + b; });
  const Tensor a = spread({}, 0.5, 0.5), b = spread({}, 0.25, 0.25);
  Tensor x = spread({}, 1.5, 1.5);
  const double seconds = fastest([&] { x = step(x, a, b); });
  return {1e6 * seconds, x.item<float>()};
}

Tensor normal_distribution(const Tensor& x) { return 0.5 * (1.0 + erf(x * 0.7071067811865476)); }

Figure option_prices(std::int64_t count) {
  auto prices = tyto::compile([](Tensor spot, Tensor strike, Tensor time, Tensor rate, Tensor volatility) {
    const Tensor spread_in_time = volatility * sqrt(time);
    const Tensor d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / spread_in_time;
    const Tensor d2 = d1 - spread_in_time;
    const Tensor discounted = strike * exp(-rate * time);
    const Tensor call = spot * normal_distribution(d1) - discounted * normal_distribution(d2);
    const Tensor put = discounted * normal_distribution(-d2) - spot * normal_distribution(-d1);
    return std::pair{call, put};
  });
  const Tensor spot = spread({count}, 10, 50), strike = spread({count}, 10, 50, 0.3), time = spread({count}, 1, 2, 0.5),
               rate = spread({count}, 0.01, 0.05, 0.7), volatility = spread({count}, 0.1, 0.4, 0.9);
  std::pair<Tensor, Tensor> result;
  const double seconds = fastest([&] { result = prices(spot, strike, time, rate, volatility); });
  return {1e6 * seconds, mean(result.first + result.second).item<float>()};
}

Figure bodies(std::int64_t count) {
  auto step = tyto::compile([](Tensor x, Tensor v, Tensor mass) {
    const Tensor apart = x(all, newaxis) - x(newaxis);
    const Tensor squared = sum(apart * apart, -1) + 1e-3;
    const Tensor weight = mass / (squared * sqrt(squared));
    const Tensor faster = v - 0.01 * sum(apart * weight(all, all, newaxis), 1);
    return std::pair{x + 0.01 * faster, faster};
  });
  const Tensor x = spread({count, 3}, -1, 1), v = spread({count, 3}, -1, 1, 0.4), mass = spread({count}, 0, 1, 0.2);
  std::pair<Tensor, Tensor> result;
  const double seconds = fastest([&] { result = step(x, v, mass); });
  return {1e6 * seconds, mean(abs(result.second)).item<float>()};
}

Figure mandelbrot(std::int64_t size) {
  auto escape = tyto::compile([](Tensor real, Tensor imaginary) {
    Tensor x = 0.0 * (real + imaginary), y = x, count = x;
    for (int i = 0; i < 30; ++i) {
      const Tensor xx = x * x, yy = y * y;
      const Tensor inside = less(xx + yy, 4.0);
      const Tensor next_x = xx - yy + real, next_y = 2.0 * x * y + imaginary;
      x = where(inside, next_x, x);
      y = where(inside, next_y, y);
      count = count + inside.astype(tyto::DType::f32);
    }
    return count;
  });
  const Tensor real = spread({1, size}, -2, 0.5), imaginary = spread({size, 1}, -1.25, 1.25);
  Tensor result;
  const double seconds = fastest([&] { result = escape(real, imaginary); });
  return {1e6 * seconds, mean(result).item<float>()};
}

/// Parses the script's output: a line of name, microseconds and checksum for each program.
Figures of_jax() {
  Figures figures;
  const std::string command = std::string("python3 '") + TYTO_PROGRAMS_SCRIPT + "' 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return figures;
  char name[64];
  Figure figure;
  while (std::fscanf(pipe, "%63s %lf %lf", name, &figure.microseconds, &figure.checksum) == 3) figures[name] = figure;
  pclose(pipe);
  return figures;
}

}  // namespace

int main() {
  tyto::threads(1);
  const std::pair<const char*, Figure> ours[] = {{"scalar_step", scalar_step()},
                                                 {"option_prices_10000", option_prices(10000)},
                                                 {"option_prices_1000000", option_prices(1000000)},
                                                 {"bodies_100", bodies(100)},
                                                 {"bodies_1000", bodies(1000)},
                                                 {"mandelbrot_64", mandelbrot(64)},
                                                 {"mandelbrot_512", mandelbrot(512)}};
  const Figures theirs = of_jax();
  if (theirs.empty()) std::printf("JAX is not installed for python3: only Tyto is timed\n");
  std::printf("%-24s %12s %12s %8s %12s\n", "program", "Tyto us", "JAX us", "ratio", "differ by");
  for (const auto& [name, figure] : ours) {
    const auto found = theirs.find(name);
    if (found == theirs.end()) {
      std::printf("%-24s %12.2f\n", name, figure.microseconds);
      continue;
    }
    const double scale = std::max(std::abs(found->second.checksum), 1e-30);
    std::printf("%-24s %12.2f %12.2f %8.2f %12.1e\n", name, figure.microseconds, found->second.microseconds,
                figure.microseconds / found->second.microseconds,
                std::abs(figure.checksum - found->second.checksum) / scale);
  }
}
