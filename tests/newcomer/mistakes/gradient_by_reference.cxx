// The compiler must say: the function takes other arguments, or one by `Tensor&` (they are values)
// In lines, at most: 14
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) {
  return tyto::grad([](Tensor& v) { return sum(v); })(x);
}
