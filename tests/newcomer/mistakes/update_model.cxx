// The compiler must say: update takes model.parameters(), and their gradients
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

void f(nn::Sequential model, nn::Descent d, std::vector<tyto::Tensor<tyto::Any>> g) { d.update(model, g); }
