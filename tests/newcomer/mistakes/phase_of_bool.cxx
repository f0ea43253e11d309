// The compiler must say: the phase of a call is nn::training or nn::inference
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

Tensor f(nn::Sequential model, Tensor x) { return model(x, true); }
