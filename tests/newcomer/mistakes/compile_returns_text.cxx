// The compiler must say: a compiled function returns a tensor
// In lines, at most: 14
#include <string>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f() {
  auto g = tyto::compile([](Tensor x) { return std::string("a"); });
  g(Tensor(1));
}
