// The compiler must say: keepdims
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return sum(x, 0, {.keepdim = true}); }
