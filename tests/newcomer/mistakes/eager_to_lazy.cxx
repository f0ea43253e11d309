// The compiler must say: Tensor(const
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;
using Eager = tyto::Tensor<tyto::Eager>;

Tensor f(Eager x) { return x; }
