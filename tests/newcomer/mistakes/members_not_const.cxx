// The compiler must say: members
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

struct Net : nn::Layer {
  nn::Linear a{{.in = 1, .out = 1}};
  tyto::Tensor<tyto::Any> forward(const tyto::Tensor<tyto::Any>& x, nn::Phase) const override { return a(x); }
  nn::Members members() override { return {{"a", a}}; }
};
