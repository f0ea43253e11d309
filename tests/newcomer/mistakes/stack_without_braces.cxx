// The compiler must say: stack({x, y})
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x, Tensor y) { return stack(x, y); }
