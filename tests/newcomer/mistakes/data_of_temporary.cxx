// The compiler must say: give the tensor a name, or take to_vector<T>()
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

float f(const Tensor& a) {
  const auto s = (a + 1).data<float>();
  return s[0];
}
