// The compiler must say: while_loop(init, go_on, body): init is a tensor
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor doubled(const Tensor& x) {
  return tyto::while_loop([](Tensor c) { return sum(c) < 10.0; }, [](Tensor c) { return c * 2; }, x);
}
