// The compiler must say: Scalar
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

bool f(Tensor x) { return x.item() > 2; }
