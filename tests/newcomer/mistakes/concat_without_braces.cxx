// The compiler must say: concat takes one list of tensors: concat({x, y}, axis)
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x, Tensor y) { return concat(x, y); }
