// The compiler must say: matmul
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x, Tensor w) { return x.matmul(w); }
