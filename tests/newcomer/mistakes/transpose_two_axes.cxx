// The compiler must say: swapaxes(x, 0, 1), or {1, 0, 2}
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return transpose(x, 0, 1); }
