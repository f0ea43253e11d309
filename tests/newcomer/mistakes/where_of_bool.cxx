// The compiler must say: where: the condition is a tensor of bools; of a bool of C++, `c ? a : b` decides
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return where(true, x, x); }
