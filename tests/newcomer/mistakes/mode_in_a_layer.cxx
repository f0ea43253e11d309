// The compiler must say: in a layer all are Tensor<Any>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

struct Scaled : tyto::nn::Layer {
  Tensor scale = Tensor::variable(1.0, "scale");
  tyto::Tensor<tyto::Any> forward(const tyto::Tensor<tyto::Any>& x, tyto::nn::Phase) const override {
    return x * scale;
  }
};
