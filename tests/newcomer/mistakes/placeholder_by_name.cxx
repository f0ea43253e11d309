// The compiler must say: Shape
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f() { return Tensor::placeholder("x", {2, 3}); }
