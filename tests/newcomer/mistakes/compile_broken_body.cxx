// The compiler must say: misspelt
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(Tensor x) {
  auto step = tyto::compile([](Tensor v) { return misspelt(v); });
  step(x);
}
