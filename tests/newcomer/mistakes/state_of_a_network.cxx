// The compiler must say: a layer takes one tensor; lstm.run(x, state)
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;
using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(nn::GRU layer, Tensor x, Tensor state) { return layer(x, state); }
