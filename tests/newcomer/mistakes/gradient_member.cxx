// The compiler must say: gradients are results
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

auto f(Tensor w) { return w.grad(); }
