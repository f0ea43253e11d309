// The compiler must say: x.reshape({2, 3})
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return x.reshape(3, 2); }
