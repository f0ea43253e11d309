// The compiler must say: concat({x, y})
// In lines, at most: 20
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x, Tensor y) { return concat(x, y); }
