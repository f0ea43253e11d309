// The compiler must say: write Tensor w(x)
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(const tyto::nn::Linear& layer) {
  Tensor w = layer.weight;
  return w;
}
