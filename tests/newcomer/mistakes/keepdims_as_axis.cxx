// The compiler must say: bool
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(const Tensor& x) { return mean(x, true); }
