// The compiler must say: Descent
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

void f(const nn::Descent& d) { nn::Descent e = d; }
