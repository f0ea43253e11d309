// The compiler must say: T
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return x.T; }
