// The compiler must say: a list of tensors is no operand
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

void f(std::vector<Tensor> parameters, std::vector<Tensor> gradients) { parameters = parameters - gradients; }
