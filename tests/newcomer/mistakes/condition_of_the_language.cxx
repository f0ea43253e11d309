// The compiler must say: cond: the condition is a tensor of one bool
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void chosen(const Tensor& x) {
  tyto::cond(
      true, [](Tensor v) { return v; }, [](Tensor v) { return -v; }, x);
}
