// The compiler must say: float32
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f() { return Tensor::zeros({2}, tyto::float32); }
