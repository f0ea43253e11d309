// The compiler must say: a gradient is taken by a tensor: grad(f)(Tensor(2.0))
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

auto f() { return tyto::grad([](Tensor v) { return v * v; })(2.0); }
