// The compiler must say: seek({}) goes back to the first
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;
using Tensor = tyto::Tensor<tyto::Lazy>;

void f(nn::Batches<Tensor> batches) { batches.reset(); }
