// The compiler must say: a function whose gradient is taken returns a tensor
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void gradient(const Tensor& x) {
  static_cast<void>(tyto::grad([](Tensor) { return 1.0; })(x));
}
