// The compiler must say: backward
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

void f(Tensor loss) { loss.backward(); }
