// The compiler must say: true or false
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return tyto::linalg::cholesky(x, "lower"); }
