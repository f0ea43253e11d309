// The compiler must say: frobnicate
// In lines, at most: 5
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(Tensor x) { tyto::value_and_grad([](Tensor v) { return frobnicate(v); })(x); }
