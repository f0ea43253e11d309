// The compiler must say: several axes are a list: sum(x, {0, 1})
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(const Tensor& x) { return sum(x, 0, 1); }
