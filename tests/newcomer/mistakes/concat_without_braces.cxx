// The compiler must say: concat takes a list: concat({x, y}, axis)
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x, Tensor y) { return concat(x, y); }
