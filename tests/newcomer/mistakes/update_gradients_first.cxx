// The compiler must say: descent.update(model.parameters(), gradients)
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;
using Tensor = tyto::Tensor<tyto::Lazy>;

void f(nn::Descent descent, nn::Sequential model, std::vector<Tensor> gradients) { descent.update(gradients, model); }
