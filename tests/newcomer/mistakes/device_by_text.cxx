// The compiler must say: to
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x) { return x.to("opencl"); }
