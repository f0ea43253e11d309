// The compiler must say: nodiscard
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

#pragma GCC diagnostic error "-Wunused-result"

void f(const Tensor& y) { y.clip(0, 1); }
