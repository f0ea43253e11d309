// The compiler must say: a layer, or a function of a tensor itself
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

nn::Sequential f(Tensor x) { return nn::Sequential{nn::Linear({.in = 2, .out = 2}), relu(x)}; }
