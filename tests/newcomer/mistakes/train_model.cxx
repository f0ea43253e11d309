// The compiler must say: train calls step(inputs, targets)
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(tyto::nn::Sequential model, tyto::nn::Batches<Tensor> batches) { tyto::nn::train(model, batches); }
