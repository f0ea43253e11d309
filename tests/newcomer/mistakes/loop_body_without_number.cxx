// The compiler must say: the body takes the iteration
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor counted(const Tensor& x) {
  return tyto::fori_loop(0, 3, x, [](Tensor c) { return c + 1; });
}
