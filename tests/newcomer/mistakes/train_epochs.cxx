// The compiler must say: TrainingOptions
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

void f(Tensor x, Tensor t) {
  auto step = tyto::compile([](Tensor a, Tensor b) { return sum(a * b); });
  nn::Batches<Tensor> b(x, t, {.size = 2});
  nn::train(step, b, 10);
}
