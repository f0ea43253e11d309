// The compiler must say: value_and_grad takes model.parameters(), not the model
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
namespace nn = tyto::nn;

void f(nn::Sequential model, Tensor x) {
  auto r = tyto::value_and_grad([&](Tensor a) { return sum(Tensor(model(a))); }, model)(x);
}
