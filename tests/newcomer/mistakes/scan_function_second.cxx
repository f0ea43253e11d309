// The compiler must say: scan(f, init, xs): the function comes first
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void sums(const Tensor& x) {
  tyto::scan(
      x(0), [](Tensor c, Tensor row) { return std::pair(c + row, c); }, x);
}
