// The compiler must say: vmap yields a function of arrays: vmap(f)(x)
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(Tensor x) {
  tyto::vmap([](Tensor v) { return sum(v); }, x);
}
