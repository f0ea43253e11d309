// The compiler must say: where
// In lines, at most: 22
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return where(true, x, x); }
