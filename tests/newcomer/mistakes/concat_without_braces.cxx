// The compiler must say: concat({x, y})
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x, Tensor y) { return concat(x, y); }
