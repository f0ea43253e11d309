// The compiler must say: in lazy mode the numbers among the arguments are tensors
// In lines, at most: 14
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(Tensor x) {
  auto g = tyto::compile([](Tensor a, double rate) { return a * rate; });
  g(x, 0.5);
}
