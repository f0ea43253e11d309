// The compiler must say: both functions take the operands and return the same type
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void chosen(const Tensor& x) {
  tyto::cond(
      sum(x) > 0.0, [](Tensor v) { return v; }, [](Tensor v) { return std::pair(v, v); }, x);
}
