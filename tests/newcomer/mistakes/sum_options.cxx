// The compiler must say: Axes
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return sum(x, {.axis = 1, .keepdims = true}); }
