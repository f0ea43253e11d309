// The compiler must say: tyto::value_and_grad(f, parameters)(x)
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(Tensor loss) { loss.backward(); }
