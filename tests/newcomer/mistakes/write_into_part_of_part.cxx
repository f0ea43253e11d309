// The compiler must say: deleted
// In lines, at most: 17
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(Tensor x) { x(0)(1) = 2; }
