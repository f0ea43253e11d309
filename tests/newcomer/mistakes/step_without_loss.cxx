// The compiler must say: train calls step(inputs, targets)
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(tyto::nn::Batches<Tensor> batches) {
  auto step = tyto::compile([](Tensor x, Tensor t) { auto loss = x - t; });
  tyto::nn::train(step, batches);
}
