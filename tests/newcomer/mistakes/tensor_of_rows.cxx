// The compiler must say: Tensor::from(numbers in one array, {2, 3})
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(const float (&rows)[2][3]) { return Tensor(rows); }
