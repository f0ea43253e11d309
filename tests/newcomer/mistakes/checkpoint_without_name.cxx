// The compiler must say: a checkpoint keeps things by name: add(name, model)
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

void f(nn::Checkpoint c, nn::Sequential model) { c.add(model); }
