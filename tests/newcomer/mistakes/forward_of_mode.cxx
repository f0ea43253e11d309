// The compiler must say: abstract
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

struct Net : nn::Layer {
  Tensor forward(const Tensor& x, nn::Phase) const { return x; }
};
void f(Tensor x) {
  Net net;
  Tensor y = net(x);
}
