// The compiler must say: x.shape()[0]
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

auto f(Tensor x) { return x.size(0); }
