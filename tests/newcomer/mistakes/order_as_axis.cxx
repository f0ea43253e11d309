// The compiler must say: sort(x, -1, true)
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return sort(x, true); }
