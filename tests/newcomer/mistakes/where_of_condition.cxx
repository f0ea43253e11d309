// The compiler must say: write nonzero(x)
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

auto f(Tensor x) { return where(x > 0); }
