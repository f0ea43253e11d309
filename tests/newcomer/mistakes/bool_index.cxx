// The compiler must say: an index is an integer, a slice, all, newaxis, ellipsis, or a tensor
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return x(true); }
