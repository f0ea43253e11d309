// The compiler must say: [
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

std::int64_t f(Tensor x) { return x.shape[0]; }
