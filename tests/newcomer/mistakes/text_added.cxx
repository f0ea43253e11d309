// The compiler must say: the operands of a tensor are tensors and numbers
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

Tensor f(Tensor x) { return x + "text"; }
