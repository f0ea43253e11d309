// The compiler must say: a std::vector is no operand; Tensor(numbers) makes a tensor of it
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return x + std::vector<float>{1, 2}; }
