// The compiler must say: a std::vector is no operand; Tensor(numbers) makes a tensor of it
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

Tensor f(Tensor x) { return std::vector<float>{1, 2} * x; }
