// The compiler must say: Phase
// In lines, at most: 13
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

Tensor f(nn::Sequential model, Tensor x) { return model(x, true); }
