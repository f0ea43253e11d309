// The compiler must say: update takes model.parameters(), and their gradients
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

void f(tyto::nn::Descent descent, std::vector<tyto::Tensor<tyto::Any>> gradients) { descent.update(gradients); }
