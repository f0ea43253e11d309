// SPDX-License-Identifier: MIT
// Loops and branches inside of graphs, as docs/flow.md shows them. Change Lazy to Eager below: it prints the same.
#include <iostream>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
using Pair = std::pair<Tensor, Tensor>;

namespace {

void recurrent_network() {
  const std::int64_t time = 200, batch = 3, features = 4, cells = 5;
  tyto::seed(1);
  const Tensor w = Tensor::normal({features, cells}), u = Tensor::normal({cells, cells}, {.stddev = 0.3});
  const Tensor b = Tensor::zeros({cells});
  const Tensor inputs = Tensor::normal({time, batch, features});
  auto [last, outputs] = scan(
      [&](const Tensor& h, const Tensor& x) {
        const Tensor next = tanh(matmul(x, w) + matmul(h, u) + b);
        return Pair(next, next);
      },
      Tensor::zeros({batch, cells}), inputs);
  std::cout << "recurrent network: outputs " << to_string(outputs.shape())
            << ", the last are the state: " << array_equal(outputs(-1), last) << "\n";
}

void solver() {
  const auto root = [](const Tensor& x) {
    return while_loop(
        x, [&](const Tensor& y) { return abs(y * y - x) > 1e-12; }, [&](const Tensor& y) { return (y + x / y) * 0.5; },
        {.most = 20});
  };
  const auto [y, gradients] = tyto::value_and_grad(root)(Tensor::full({}, 7.0, tyto::DType::f64));
  std::cout << "square root of 7: " << y.item<double>() << ", its gradient " << gradients[0].item<double>() << "\n";
}

void integrator() {
  const double h = 0.01;
  const auto f = [](const Tensor& s) { return stack(std::vector<Tensor>{s(1), -s(0)}); };
  const auto orbit = scan(
                         [&](const Tensor& s, const Tensor&) {
                           const Tensor k1 = f(s), k2 = f(s + k1 * (h / 2)), k3 = f(s + k2 * (h / 2)),
                                        k4 = f(s + k3 * h);
                           const Tensor next = s + (k1 + k2 * 2 + k3 * 2 + k4) * (h / 6);
                           return Pair(next, next);
                         },
                         Tensor{1.0, 0.0}.astype(tyto::DType::f64), Tensor::zeros({100}))
                         .second;
  std::cout << "after a time of one: " << orbit(-1) << " for cos and -sin of 1\n";
}

void epoch() {
  tyto::seed(2);
  const std::vector<Tensor> line{Tensor::variable(0.0, "slope"), Tensor::variable(0.0, "offset")};
  const auto objective = [&](const Tensor& x, const Tensor& t) { return mean(square(line[0] * x + line[1] - t)); };
  auto epoch_of = tyto::compile([&](Tensor xs, Tensor ts) {
    return scan(
               [&](const Tensor& total, const Pair& batch) {
                 const auto [loss, gradients] = tyto::value_and_grad(objective, line)(batch.first, batch.second);
                 for (std::size_t i = 0; i < line.size(); ++i) assign(line[i], line[i] - gradients[i] * 0.3);
                 return Pair(total + loss, loss);
               },
               Tensor::full({}, 0.0), Pair(xs, ts))
        .first;
  });
  const Tensor x = Tensor::uniform({60, 16}, {.low = -1, .high = 1});
  epoch_of(x, x * 3 + 0.5);
  std::cout << "one epoch: y = " << line[0].item<float>() << " x + " << line[1].item<float>() << "\n";
}

// Collatz' numbers: what comes next depends on the data, and so does how long it takes.
void early_exit() {
  const auto [last, numbers, count] = scan_until(
      [](const Tensor& n, const Tensor&) {
        const Tensor next = cond(
            n % 2 == 0, [&] { return n / 2; }, [&] { return n * 3 + 1; });
        return std::tuple(next, next, next == 1);
      },
      Tensor::full({}, 6.0), Tensor::zeros({1000}));
  std::cout << "from 6 to 1 in " << count.item<std::int64_t>() << " steps: " << numbers(tyto::slice(0, 8)) << "\n";
}

}  // namespace

int main() {
  recurrent_network();
  solver();
  integrator();
  epoch();
  early_exit();
}
