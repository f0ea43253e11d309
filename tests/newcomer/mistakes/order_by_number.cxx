// The compiler must say: true or false
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return argsort(x, -1, 1); }
