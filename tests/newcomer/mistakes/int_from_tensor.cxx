// The compiler must say: int
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

int f(Tensor x) {
  int n = x;
  return n;
}
