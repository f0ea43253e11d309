// The compiler must say: ambiguous
// In lines, at most: 17
#include <tyto/tyto.hpp>

using Tensor = tyto::Tensor<tyto::Lazy>;

using namespace tyto;
Tensor f(Tensor x) { return x; }
