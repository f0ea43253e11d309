// The compiler must say: write value_and_grad(f)(x), or of a variable w value_and_grad(f, {w})(x)
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(Tensor x) {
  tyto::value_and_grad([](Tensor v) { return sum(v); }, x);
}
