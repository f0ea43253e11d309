// The compiler must say: deleted
// In lines, at most: 17
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f() {
  const Tensor x{1, 2};
  x = x + 1;
}
