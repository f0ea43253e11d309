// The compiler must say: operands of einsum are of one mode; Tensor(x) makes one of another
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

Tensor f(Tensor x, tyto::Tensor<tyto::Any> gradient) { return einsum("i,i->", x, gradient); }
