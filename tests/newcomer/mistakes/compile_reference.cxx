// The compiler must say: the compiled function takes other arguments, or one by `Tensor&` (they are values)
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(Tensor x) {
  auto g = tyto::compile([](Tensor& a) { a += 1; });
  g(x);
}
