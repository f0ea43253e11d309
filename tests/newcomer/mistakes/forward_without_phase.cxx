// The compiler must say: forward
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

tyto::Tensor<tyto::Any> f(const nn::Sequential& model, Tensor x) { return model.forward(x); }
