// The compiler must say: DType
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f() { return Tensor::zeros(2, 3); }
