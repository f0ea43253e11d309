// The compiler must say: the compiled function takes other arguments
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(Tensor x) {
  auto g = tyto::compile([](Tensor a, Tensor b) { return a + b; });
  g(x);
}
