// The compiler must say: the compiled function takes other arguments
// In lines, at most: 14
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

void f(Tensor x, Tensor t) {
  auto step = tyto::compile([](Tensor a, Tensor b, Tensor c) { return sum(a * b * c); });
  nn::Batches<Tensor> b(x, t, {.size = 2});
  nn::train(step, b, {.epochs = 1});
}
