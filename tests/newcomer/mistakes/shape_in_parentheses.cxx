// The compiler must say: Tensor::zeros({3, 4}) has this shape
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(long rows) {
  Tensor y(rows, 4);
  return y;
}
