// The compiler must say: UniformOptions
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f() { return Tensor::uniform({3}, -1, 1); }
