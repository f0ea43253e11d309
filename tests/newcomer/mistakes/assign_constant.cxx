// The compiler must say: the name on the left is const
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(const Tensor& x) { x += 1; }
