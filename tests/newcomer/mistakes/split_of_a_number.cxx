// The compiler must say: random_split takes a list of parts, such as {0.8, 0.2}
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

auto f(Tensor x, Tensor t) { return nn::random_split(x, t, 0.8); }
