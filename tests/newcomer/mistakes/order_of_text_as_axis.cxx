// The compiler must say: argsort
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return argsort(x, "descending"); }
