// SPDX-License-Identifier: MIT
// A tour of Tyto. Change Lazy to Eager below: every line stays as it is, and prints the same.
#include <iostream>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;
using tyto::slice;

int main() {
  // Tensors are made of numbers, by name, or at random; types meet as in NumPy.
  const Tensor a{{1, 2, 3}, {4, 5, 6}};
  const Tensor b = Tensor::linspace(0, 1, 3);
  std::cout << "a + b\n" << a + b << "\n\n";
  std::cout << "a(1, ::-1)  " << a(1, slice({}, {}, -1)) << "\n";
  std::cout << "a @ a.T\n" << matmul(a, a.T()) << "\n\n";

  // Writing: the name x gets a new array, other names keep the old one.
  Tensor x = Tensor::zeros({2, 3});
  x(tyto::all, 1) = b(slice(1, 3));
  std::cout << "x\n" << x << "\n\n";

  // Errors are thrown by the line that is wrong, and say what would have been right.
  try {
    std::cout << matmul(a, a);
  } catch (const tyto::ShapeError& error) {
    std::cout << error.what() << "\n\n";
  }

  // Gradients are functions of functions.
  const auto cube = [](const Tensor& t) { return sum(t * t * t); };
  std::cout << "gradient of t^3 at b  " << tyto::grad(cube)(b) << "\n\n";

  // A model, an optimizer, and a training step that is recorded once and then runs in memory planned before.
  tyto::seed(1);
  const nn::Sequential model{nn::Linear({.in = 1, .out = 32}), tyto::tanh, nn::Linear({.in = 32, .out = 1})};
  nn::Descent descent = nn::adam({.rate = 0.01});
  const auto objective = [&](const Tensor& in, const Tensor& out) {
    return mean_squared_error(model(in, nn::training), out);
  };
  auto step = tyto::compile([&](Tensor in, Tensor out) {
    auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(in, out);
    descent.update(model.parameters(), gradients);
    return loss;
  });
  const Tensor angles = Tensor::linspace(-3, 3, 100).reshape({100, 1});
  Tensor loss;
  for (int i = 0; i < 500; ++i) loss = step(angles, sin(angles));
  std::cout << "learned the sine up to a mean square of " << loss.item<float>() << "\n";
  std::cout << "sin(1) is about " << model(Tensor{{1.0}}).item<float>() << "\n";

  // Arrays go to and from NumPy.
  tyto::write_npy("angles.npy", angles);
  std::cout << "read back: " << allclose(tyto::read_npy<Tensor>("angles.npy"), angles) << "\n";
}
