// The compiler must say: Scalar
// In lines, at most: 13
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

bool f(Tensor x) { return x.item() > 2; }
