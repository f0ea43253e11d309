// The compiler must say: the phase of a call is nn::training or nn::inference
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(tyto::nn::Sequential model, Tensor x) { return model(x, "training"); }
