// The compiler must say: stack takes a list: stack({x, y}, axis)
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

Tensor f(Tensor x, Tensor y) { return stack(x, y, 1); }
