// The compiler must say: write {.size = 64}
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(Tensor x, Tensor t) { tyto::nn::Batches<Tensor> batches(x, t, 64); }
