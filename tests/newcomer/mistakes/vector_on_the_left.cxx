// The compiler must say: a std::vector is no operand
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(std::vector<float> v, Tensor x) { return v * x; }
