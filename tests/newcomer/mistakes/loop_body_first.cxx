// The compiler must say: fori_loop(lower, upper, init, body): init, which stands before the body, is a tensor
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor counted(const Tensor& x) {
  return tyto::fori_loop(
      0, 3, [](Tensor i, Tensor c) { return c + i; }, x);
}
