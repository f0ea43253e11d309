// The compiler must say: float
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

float f(Tensor x) { return x; }
