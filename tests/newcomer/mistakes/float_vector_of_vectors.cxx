// The compiler must say: vector<std::vector<T
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f() { return Tensor(std::vector<std::vector<float>>{{1, 2}, {3, 4}}); }
