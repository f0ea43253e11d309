// The compiler must say: step
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

void f(nn::Sequential model) {
  auto o = nn::adam({.rate = 0.1});
  o.step();
}
