// The compiler must say: eager and lazy tensors do not mix; Tensor(x) makes one of another mode
// In lines, at most: 14
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
using Eager = tyto::Tensor<tyto::Eager>;

auto f(Eager x, Tensor y) { return x + y; }
